#include "app/root_command.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <initializer_list>
#include <memory>
#include <optional>
#include <ostream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "app/failure.h"
#include "catalog/postgres_catalog.h"
#include "catalog/sqlite_catalog.h"
#include "io/posix_file_system.h"
#include "io/publish.h"
#include "kb/root_identity.h"

namespace strata::app {
namespace {

using kb::CatalogKind;
using kb::LockKind;

/// `path` below `from`, folder by folder; null where one of them is missing.
std::unique_ptr<io::Directory> open_below(io::FileSystem& fs, const io::Directory& from,
                                          std::initializer_list<std::string_view> path) {
  std::unique_ptr<io::Directory> at;
  for (const std::string_view name : path) {
    auto next = fs.open_directory_at({at ? *at : from, name});
    if (!next) return nullptr;
    at = std::move(next).value();
  }
  return at;
}

/// A process that has a stream of the root open; nothing: none is known to. A node without any
/// stream is not seen.
Result<std::optional<std::string>> running_process(io::FileSystem& fs, const io::Directory& root) {
  const auto kbs = open_below(fs, root, {"kb"});
  if (!kbs) return std::nullopt;
  STRATA_ASSIGN_OR_RETURN(const auto kb_entries, fs.list(*kbs));
  for (const io::DirEntry& kb : kb_entries) {
    const auto streams = open_below(fs, *kbs, {kb.name, "strata", "streams"});
    if (!streams) continue;
    STRATA_ASSIGN_OR_RETURN(const auto stream_entries, fs.list(*streams));
    for (const io::DirEntry& stream : stream_entries) {
      const auto tmp = open_below(fs, *streams, {stream.name, "_tmp"});
      if (!tmp) continue;
      STRATA_ASSIGN_OR_RETURN(auto process, io::living_process(fs, *tmp));
      if (process) return process;
    }
  }
  return std::nullopt;
}

/// The list of kbs is what tells a copied folder from its original, so it moves along.
Result<void> copy_list(catalog::RootCatalog& from, catalog::RootCatalog& to) {
  STRATA_ASSIGN_OR_RETURN(const auto rows, from.knowledgebases());
  for (const catalog::KnowledgebaseRow& row : rows) {
    STRATA_RETURN_IF_ERROR(to.put_knowledgebase(row));
  }
  return {};
}

/// What the command line may say for one of `kinds`.
template <typename Kinds, typename Kind>
std::vector<std::string> names_of(const Kinds& kinds, std::string_view (*name)(Kind)) {
  std::vector<std::string> names;
  for (const Kind kind : kinds) names.emplace_back(name(kind));
  return names;
}

class RootSetCommand final : public cli::Command {
 public:
  std::string data = "./strata-data";
  std::string postgres;
  std::string lock;     // empty: as it is
  std::string catalog;  // likewise

  cli::ExitCode run(cli::CommandContext& context) override {
    const auto changed = set(*context.clock);
    if (!changed) {
      print_failure(*context.err, "root set", changed.error());
      return cli::ExitCode::kUsage;
    }
    const bool redis = changed->lock == LockKind::kRedis;
    *context.out << fmt::format("The root's lock is '{}': start every node {} --redis.\n",
                                lock_kind_name(changed->lock), redis ? "with" : "without");
    if (changed->catalog == CatalogKind::kPostgres) {
      *context.out << "Its catalog is in PostgreSQL: start every node with --postgres.\n";
    }
    return cli::ExitCode::kDone;
  }

 private:
  Result<kb::RootIdentity> set(const Clock& clock) const {
    if (lock.empty() && catalog.empty()) {
      return make_error(Code::kBadRequest, "Name what to set: --lock or --catalog.");
    }
    const auto fs = io::make_posix_file_system();
    STRATA_ASSIGN_OR_RETURN(const auto root, kb::open_root_directory(*fs, data));
    STRATA_ASSIGN_OR_RETURN(const auto identity, kb::read_root_identity(*fs, *root));
    STRATA_ASSIGN_OR_RETURN(const auto process, running_process(*fs, *root));
    if (process) {
      return make_error(
          Code::kConflict,
          fmt::format("Process {} runs on this root: stop every node first.", *process));
    }
    kb::RootIdentity wanted = *identity;
    // The command line has been checked.
    wanted.lock = kb::parse_lock_kind(lock).value_or(wanted.lock);
    wanted.catalog = kb::parse_catalog_kind(catalog).value_or(wanted.catalog);
    if (wanted.catalog != identity->catalog) {
      STRATA_RETURN_IF_ERROR(move_catalog(clock, wanted.catalog));
    }
    STRATA_RETURN_IF_ERROR(kb::replace_root_identity(*fs, *root, wanted));
    return wanted;
  }

  Result<void> move_catalog(const Clock& clock, CatalogKind to) const {
    if (postgres.empty()) {
      return make_error(Code::kBadRequest,
                        "Name the PostgreSQL that the catalog moves to or from: --postgres URL, or "
                        "STRATA_POSTGRES.");
    }
    STRATA_ASSIGN_OR_RETURN(const auto database,
                            catalog::make_postgres_database({.url = postgres}, clock));
    const auto in_postgres = catalog::make_postgres_root_catalog(*database);
    const auto in_sqlite = catalog::make_sqlite_root_catalog(data + "/strata.sqlite");
    return to == CatalogKind::kPostgres ? copy_list(*in_sqlite, *in_postgres)
                                        : copy_list(*in_postgres, *in_sqlite);
  }
};

}  // namespace

void add_root_command(CLI::App& app, cli::CommandContext& context) {
  auto owned = std::make_unique<RootSetCommand>();
  RootSetCommand& command = *owned;
  context.commands.push_back(std::move(owned));
  CLI::App* root = app.add_subcommand("root", "The root folder itself, while no node runs on it");
  root->require_subcommand(1);
  CLI::App* set = root->add_subcommand("set", "Change what the nodes of a root share");
  set->add_option(
         "--lock", command.lock,
         "What orders the nodes that publish views: file for one machine, redis for several")
      ->check(CLI::IsMember(names_of(kb::kLockKinds, kb::lock_kind_name)));
  set->add_option("--catalog", command.catalog,
                  "Where the list of knowledgebases is; its rows are taken along")
      ->check(CLI::IsMember(names_of(kb::kCatalogKinds, kb::catalog_kind_name)));
  set->add_option("--postgres", command.postgres, "With --catalog: the PostgreSQL of the root")
      ->envname("STRATA_POSTGRES")
      ->type_name("URL");
  set->add_option("--data", command.data, "The root folder the server has as --data")
      ->capture_default_str();
  set->footer("Example:\n  strata root set --lock redis --data ./strata-data");
  set->callback([&command, &context] { context.exit_code = command.run(context); });
}

}  // namespace strata::app
