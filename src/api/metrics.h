#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace strata::api {

/// What /metrics shows (interface.md, Metrics). Counters are counted where things happen; gauges
/// are asked for when somebody looks. Thread-safe.
class Metrics {
 public:
  struct StreamLabels {
    std::string kb;
    std::string stream;
  };
  /// One sample of a gauge or a counter kept elsewhere.
  struct Sample {
    std::vector<std::pair<std::string, std::string>> labels;
    double value = 0;
  };
  struct Reading {
    std::string name;
    std::string help;
    bool counter = false;
    std::vector<Sample> samples;
  };

  Metrics();
  ~Metrics();

  /// `result`: landed | replayed | rejected | too_large | error.
  void count_batch(const StreamLabels& stream, std::string_view result);
  void count_rows(const StreamLabels& stream, std::uint64_t rows);
  /// From the request's arrival to its 200.
  void observe_ack(std::chrono::nanoseconds duration);
  /// `result`: ok, the wire name of the error, or `cancelled`: nobody read the answer to its end.
  void count_query(std::string_view result);
  /// `result`: done | unchanged | failed | cancelled.
  void count_ontology_job(std::string_view result);
  /// `step`: as its job calls it.
  void observe_ontology_step(std::string_view step, std::chrono::nanoseconds duration);
  /// The version of the kb's model that was the active one when this process last asked.
  void set_ontology_version(const std::string& kb, std::uint64_t version);

  /// Asked at each look, besides the counters above.
  void on_look(std::function<std::vector<Reading>()> read);
  /// The Prometheus text format.
  std::string text() const;

 private:
  struct Parts;
  std::unique_ptr<Parts> parts_;
};

}  // namespace strata::api
