#include "ontology/apply.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>
#include <memory>
#include <optional>
#include <utility>

#include "base/sha256.h"
#include "ontology/applied.h"
#include "ontology/profiler.h"
#include "ontology/snapshot.h"
#include "ontology/sql_evidence.h"
#include "ontology/steps.h"
#include "ontology/synthesise.h"
#include "ontology/typed_tables.h"

namespace strata::ontology {
namespace {

using duck::Sql;

/// Part of a fingerprint: whoever changes a rule, a word list or a typed table raises it.
constexpr std::string_view kRules = "3";
constexpr std::string_view kSchema = "ontology";
constexpr std::chrono::milliseconds kLockWait{10'000};

/// Where each step ends, of the whole.
constexpr double kFrozen = 0.2;
constexpr double kProfiled = 0.5;
constexpr double kSynthesised = 0.7;
constexpr double kTyped = 0.9;

/// A view's text has the paths of the tables it reads: those of another version, or of the folder
/// that a moved kb had before, are others.
bool has_views_of(const std::vector<duck::View>& views, const Applied& applied,
                  const std::string& kb_folder) {
  return std::ranges::all_of(applied, [&](const AppliedStream& stream) {
    return std::ranges::all_of(stream.tables, [&](const AppliedTable& table) {
      const std::string path = Sql().glob(fmt::format("{}/{}", kb_folder, table.file), "").str();
      return std::ranges::any_of(views, [&path](const duck::View& view) {
        return view.schema == kSchema && view.sql.contains(path);
      });
    });
  });
}

Outcome outcome_of(const AppliedStream& stream, std::uint64_t version, bool unchanged) {
  Outcome outcome{.version = version, .unchanged = unchanged, .rows = stream.rows, .views = {}};
  for (const AppliedTable& table : stream.tables) outcome.views.push_back(table.view);
  return outcome;
}

class Application {
 public:
  explicit Application(const Apply& apply)
      : apply_(apply),
        kb_(apply.knowledgebase),
        files_(kb_.table_files()),
        versions_(kb_.catalog().ontology()) {}

  Result<Outcome> run() {
    STRATA_RETURN_IF_ERROR(settle_pending());
    STRATA_RETURN_IF_ERROR(open());
    STRATA_RETURN_IF_ERROR(freeze_table());
    STRATA_ASSIGN_OR_RETURN(const auto same, unchanged());
    if (same) return *same;
    STRATA_RETURN_IF_ERROR(profile_snapshot());
    STRATA_RETURN_IF_ERROR(synthesise_model());
    return store();
  }

 private:
  Result<void> step(std::string_view name) {
    if (apply_.progress.cancel.stop_requested()) {
      return make_error(Code::kCancelled, "It was cancelled.");
    }
    apply_.progress.step(name);
    return {};
  }

  Result<void> open() {
    STRATA_ASSIGN_OR_RETURN(const auto active, versions_.active());
    if (active) {
      active_version_ = active->version;
      active_digest_ = active->model_sha256;
      STRATA_ASSIGN_OR_RETURN(applied_, parse_applied(active->content));
      content_ = active->content;
    }
    STRATA_ASSIGN_OR_RETURN(folder_, files_.make_job_folder(0));
    STRATA_ASSIGN_OR_RETURN(bench_,
                            apply_.workers.open_workbench({.kb_folder = kb_.folder(),
                                                           .write_folder = folder_->path(),
                                                           .cancel = apply_.progress.cancel}));
    return {};
  }

  Result<void> freeze_table() {
    STRATA_RETURN_IF_ERROR(step("Snapshot"));
    STRATA_ASSIGN_OR_RETURN(FrozenTable frozen, freeze(*bench_, apply_.table, folder_->path()));
    if (frozen.rows == 0) {
      return make_error(Code::kConflict, "The stream has no rows to make a model of.");
    }
    stream_.stream = apply_.stream;
    stream_.rows = frozen.rows;
    stream_.taken_at = format_iso8601(apply_.clock.wall());
    STRATA_ASSIGN_OR_RETURN(stream_.fingerprint, fingerprint(frozen));
    frozen_ = std::move(frozen);
    apply_.progress.progress(kFrozen);
    return {};
  }

  /// Of the rules, the schema and which rows there are: the same batches of the same table, each
  /// with as many rows.
  Result<std::string> fingerprint(const FrozenTable& frozen) {
    STRATA_ASSIGN_OR_RETURN(
        CellReader batches,
        only_row(*bench_,
                 Sql("SELECT sha256(string_agg(_batch_id || ' ' || n, chr(10) ORDER BY _batch_id)) "
                     "FROM (SELECT _batch_id, count(*) AS n FROM ")
                     .append(frozen.relation())
                     .raw(" GROUP BY _batch_id)")));
    std::string all = fmt::format("{}\n{}\n{}\n", kRules, apply_.table.made_at, batches.text());
    if (!batches.whole()) return unexpected_answer("no digest of the batches");
    for (const std::string& column : frozen.columns) all += column + '\n';
    return sha256_hex(all);
  }

  Result<std::optional<Outcome>> unchanged() {
    const auto before = std::ranges::find(applied_, apply_.stream, &AppliedStream::stream);
    if (before == applied_.end() || before->fingerprint != stream_.fingerprint) return std::nullopt;
    STRATA_ASSIGN_OR_RETURN(const kb::Generation newest, kb_.generations().newest());
    STRATA_ASSIGN_OR_RETURN(const auto views, kb_.generations().views(newest));
    if (!has_views_of(views, applied_, kb_.folder())) return std::nullopt;
    return outcome_of(*before, active_version_, true);
  }

  Result<void> profile_snapshot() {
    STRATA_RETURN_IF_ERROR(step("Profile"));
    STRATA_ASSIGN_OR_RETURN(stream_.snapshot, publish_snapshot(files_, *folder_, *frozen_));
    apply_.progress.kill_point("ontology:after_snapshot");
    STRATA_ASSIGN_OR_RETURN(profile_, profile_table(*bench_, *frozen_));
    STRATA_RETURN_IF_ERROR(store_profile(files_, frozen_->id, profile_));
    apply_.progress.kill_point("ontology:after_profile");
    apply_.progress.progress(kProfiled);
    return {};
  }

  Result<void> synthesise_model() {
    STRATA_RETURN_IF_ERROR(step("Synthesise"));
    SqlEvidence evidence(*bench_, *frozen_, profile_);
    STRATA_ASSIGN_OR_RETURN(
        model_,
        synthesise(profile_, evidence, {.kb_uuid = kb_.uuid(), .stream_name = apply_.stream}));
    if (model_.types.empty()) {
      return make_error(Code::kConflict, "No column of the stream has a value: there is no model.");
    }
    stream_.model_json = to_json(model_);
    apply_.progress.progress(kSynthesised);
    return {};
  }

  Result<Outcome> store() {
    STRATA_RETURN_IF_ERROR(step("Views"));
    Applied next = applied_;
    std::erase_if(next, [this](const AppliedStream& one) { return one.stream == stream_.stream; });
    next.push_back(stream_);
    std::ranges::sort(next, {}, &AppliedStream::stream);
    const std::string digest = model_digest(next);
    const bool is_new = digest != active_digest_;
    // None is above the active one: what was pending is settled, and no job puts two.
    const std::uint64_t version = is_new ? active_version_ + 1 : active_version_;
    STRATA_RETURN_IF_ERROR(write_tables(version));
    name_views(stream_, applied_);
    *std::ranges::find(next, stream_.stream, &AppliedStream::stream) = stream_;
    apply_.progress.kill_point("ontology:after_tables");
    apply_.progress.progress(kTyped);
    if (is_new) {
      STRATA_RETURN_IF_ERROR(activate(version, digest, next));
    } else {
      STRATA_RETURN_IF_ERROR(refresh(next));
    }
    return outcome_of(stream_, version, false);
  }

  Result<void> write_tables(std::uint64_t version) {
    stream_.tables.clear();
    for (TypedTable& table : typed_tables(model_, profile_, frozen_->relation())) {
      const std::string staged = table.view + ".parquet";
      STRATA_RETURN_IF_ERROR(bench_->run(Sql("COPY (")
                                             .append(table.select)
                                             .raw(") TO ")
                                             .literal(folder_->path() + "/" + staged)
                                             .raw(" (FORMAT parquet)"),
                                         kStepLimit));
      STRATA_ASSIGN_OR_RETURN(const std::uint64_t rows,
                              count(*bench_, Sql("SELECT count(*) FROM read_parquet(")
                                                 .glob(folder_->path() + "/" + staged, "")
                                                 .raw(", hive_partitioning=false)")));
      // One name a snapshot and stream: a table that a view reads is never replaced.
      const auto file = files_.publish_typed_table(
          {.from = *folder_,
           .name = staged,
           .version = version,
           .as = fmt::format("{}.{}.{:06}.parquet", table.view, stream_.stream, stream_.snapshot)});
      STRATA_RETURN_IF_ERROR(file);
      stream_.tables.push_back({.type_view = table.view,
                                .view = {},
                                .kind = table.kind,
                                .key = table.key,
                                .columns = std::move(table.columns),
                                .file = *file,
                                .rows = rows});
    }
    return {};
  }

  Result<void> activate(std::uint64_t version, const std::string& digest, const Applied& next) {
    STRATA_ASSIGN_OR_RETURN(const bool is_ours, versions_.put_pending({.version = version,
                                                                       .state = "pending",
                                                                       .model_sha256 = digest,
                                                                       .content = to_json(next),
                                                                       .job = apply_.job,
                                                                       .created = {}}));
    if (!is_ours) return overtaken();
    apply_.progress.kill_point("ontology:after_pending");
    const auto activated = publish_and_activate(version, next);
    // Its views may be there all the same.
    if (!activated) ignore(settle_pending(), "settled by the next job");
    return activated;
  }

  Result<void> publish_and_activate(std::uint64_t version, const Applied& next) {
    STRATA_ASSIGN_OR_RETURN(const auto lease, acquire_lock());
    STRATA_RETURN_IF_ERROR(check_not_overtaken());
    STRATA_ASSIGN_OR_RETURN(const auto pending, versions_.pending());
    if (!pending || pending->version != version || pending->job != apply_.job) return overtaken();
    STRATA_RETURN_IF_ERROR(publish_views(next));
    apply_.progress.kill_point("ontology:after_publish");
    STRATA_RETURN_IF_ERROR(versions_.activate(version));
    apply_.progress.kill_point("ontology:after_activate");
    return {};
  }

  Result<void> refresh(const Applied& next) {
    STRATA_ASSIGN_OR_RETURN(const auto lease, acquire_lock());
    STRATA_RETURN_IF_ERROR(check_not_overtaken());
    STRATA_RETURN_IF_ERROR(publish_views(next));
    return versions_.refresh(active_version_, to_json(next));
  }

  /// A job that was taken for abandoned may be working still while the next one runs: of the two,
  /// the one that comes to its views last would take the other's away.
  Result<void> check_not_overtaken() {
    STRATA_ASSIGN_OR_RETURN(const auto active, versions_.active());
    const std::uint64_t version = active ? active->version : 0;
    const bool is_same = version == active_version_ && (!active || active->content == content_);
    if (!is_same) return overtaken();
    return {};
  }

  static Error overtaken() {
    return make_error(Code::kBusy, "Another job changed the model meanwhile; start it again.");
  }

  Result<std::unique_ptr<lock::Lease>> acquire_lock() {
    return kb_.lock().acquire({.kb = kb_.id().str(),
                               .stream = apply_.stream,
                               .purpose = kb::Purpose::kOntology,
                               .wait = kLockWait});
  }

  /// A version that stayed pending becomes active if its views are there, else it goes.
  Result<void> settle_pending() {
    STRATA_ASSIGN_OR_RETURN(const auto left, versions_.pending());
    if (!left) return {};
    // Whoever works on it still is between its views and their activation, or finds it gone.
    STRATA_ASSIGN_OR_RETURN(const auto lease, acquire_lock());
    STRATA_ASSIGN_OR_RETURN(const auto pending, versions_.pending());
    if (!pending) return {};
    STRATA_ASSIGN_OR_RETURN(const Applied applied, parse_applied(pending->content));
    STRATA_ASSIGN_OR_RETURN(const kb::Generation newest, kb_.generations().newest());
    STRATA_ASSIGN_OR_RETURN(const auto views, kb_.generations().views(newest));
    return has_views_of(views, applied, kb_.folder()) ? versions_.activate(pending->version)
                                                      : versions_.drop_pending(pending->version);
  }

  /// One generation with all of `applied`'s views and no other one of the schema. The kb's lock is
  /// held.
  Result<void> publish_views(const Applied& applied) {
    STRATA_ASSIGN_OR_RETURN(const kb::Generation newest, kb_.generations().newest());
    STRATA_ASSIGN_OR_RETURN(const auto there, kb_.generations().views(newest));
    const auto wanted = views_of(applied, kb_.folder());
    std::vector<Sql> ddl;
    for (const duck::View& view : there) {
      const bool stays = std::ranges::any_of(
          wanted, [&](const OntologyView& one) { return one.name == view.name; });
      if (view.schema == kSchema && !stays) {
        ddl.push_back(Sql("DROP VIEW IF EXISTS ontology.").ident(view.name));
      }
    }
    for (const auto& [name, select] : wanted) {
      ddl.push_back(Sql("CREATE OR REPLACE VIEW ontology.").ident(name).raw(" AS ").append(select));
    }
    STRATA_RETURN_IF_ERROR(kb_.generations().publish(ddl));
    return {};
  }

  const Apply& apply_;
  kb::Knowledgebase& kb_;
  kb::TableFiles& files_;
  catalog::OntologyVersions& versions_;
  std::unique_ptr<kb::JobFolder> folder_;
  std::unique_ptr<duck::Workbench> bench_;  // ends before its folder
  std::uint64_t active_version_ = 0;
  std::string active_digest_;
  std::string content_;  // of the active version
  Applied applied_;      // as the active version has it
  std::optional<FrozenTable> frozen_;
  AppliedStream stream_;
  Profile profile_;
  Model model_;
};

}  // namespace

std::string to_json(const Outcome& outcome) {
  return boost::json::serialize(boost::json::object{
      {"version", outcome.version},
      {"unchanged", outcome.unchanged},
      {"rows", outcome.rows},
      {"views", boost::json::array(outcome.views.begin(), outcome.views.end())}});
}

Result<Outcome> apply(const Apply& apply) { return Application(apply).run(); }

}  // namespace strata::ontology
