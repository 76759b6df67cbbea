#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "ontology/model.h"
#include "ontology/testing/profiled_rows.h"

namespace strata::ontology {

/// Made-up streams of the shapes that the rules were first tried on, the same at every call.
struct SampleStream {
  std::string name;
  std::vector<std::string> columns;
  std::vector<ProfiledRows::Row> rows;
};

SampleStream compensation();         // 20 employees, 3 periods
SampleStream payroll_export();       // 60 employees, each once
SampleStream sensors();              // readings of 12 sensors on 5 sites
SampleStream order_lines();          // lines of orders
SampleStream orders();               // one row an order
SampleStream telemetry();            // devices behind gateways
SampleStream clickstream();          // events of users on pages
SampleStream inventory_snapshots();  // stock of skus in warehouses, day by day

/// The same rows under other names of columns, in the order of `names`: pairs of new and old.
SampleStream renamed(const SampleStream& stream,
                     const std::vector<std::pair<std::string, std::string>>& names);

struct Noise {
  std::uint32_t seed = 0;
  std::size_t nulls_percent = 0;
  std::size_t typos_percent = 0;  // one character becomes another, of its kind
};
SampleStream with_noise(SampleStream stream, const Noise& noise);

/// A model as lines of text: `PayFact: ... bonus[additive] department`, then of links all that do
/// not lead from rows to a type's key: `Employee ~> Department` for suggested ones.
std::string summary(const Model& model);
/// synthesise() of the stream; a test fails where it has no model.
Model model_of(const SampleStream& stream);

}  // namespace strata::ontology
