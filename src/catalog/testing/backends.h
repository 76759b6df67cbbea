#pragma once

#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <memory>
#include <ostream>
#include <string>

#include "catalog/catalog.h"

/// What the contract suites run on: each backend, as several processes hold it.
namespace strata::catalog {

/// A place for catalogs, fresh and gone with it.
class Backend {
 public:
  virtual ~Backend() = default;
  /// One more holder of the same catalog, as another process is. Lives no longer than this.
  virtual std::unique_ptr<Catalog> holder() = 0;
  virtual std::unique_ptr<RootCatalog> root_holder() = 0;
  /// What a newer Strata leaves: schema version 4.
  virtual void write_newer_schema() = 0;
  /// What the Strata before jobs left: schema version 1, with its rows.
  virtual void write_older_schema() = 0;
  /// The tables of a kb's catalog.
  virtual std::string kb_tables() = 0;
  /// Puts every job's or node's heartbeat so far back.
  virtual void age_jobs(std::chrono::seconds by) = 0;
  virtual void age_nodes(std::chrono::seconds by) = 0;
};

enum class Kind : std::uint8_t { kSqlite, kPostgres };

/// Fresh, and gone with it.
std::unique_ptr<Backend> make_backend(Kind kind);

/// The name of a test ends in it.
void PrintTo(Kind kind, std::ostream* out);

/// A test on every backend that this machine has.
class BackendTest : public testing::TestWithParam<Kind> {
 protected:
  void SetUp() override;

  std::unique_ptr<Backend> backend_;
};

inline const auto kEachBackend = testing::Values(Kind::kSqlite, Kind::kPostgres);

}  // namespace strata::catalog
