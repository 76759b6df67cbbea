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
#include "ontology/settle.h"
#include "ontology/snapshot.h"
#include "ontology/sql_evidence.h"
#include "ontology/steps.h"
#include "ontology/synthesise.h"
#include "ontology/typed_tables.h"

namespace strata::ontology {
namespace {

using duck::Sql;

/// Part of a fingerprint: whoever changes a rule, a word list or a typed table raises it.
constexpr std::string_view kRules = "5";
constexpr std::chrono::milliseconds kLockWait{10'000};

/// Where each step ends, of the whole.
constexpr double kFrozen = 0.2;
constexpr double kProfiled = 0.5;
constexpr double kSynthesised = 0.7;
constexpr double kTyped = 0.9;

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
    STRATA_RETURN_IF_ERROR(look_at_versions());
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

  /// The version that stands is the active one, or a pending one whose views are there already.
  Result<void> look_at_versions() {
    STRATA_ASSIGN_OR_RETURN(const auto pending, versions_.pending());
    STRATA_ASSIGN_OR_RETURN(const auto active, versions_.active());
    is_unsettled_ = pending.has_value();
    if (pending) {
      STRATA_ASSIGN_OR_RETURN(const Applied applied, parse_applied(pending->content));
      STRATA_ASSIGN_OR_RETURN(const bool there, has_views_of(kb_, applied));
      if (there) return stand_on(*pending);
    }
    return active ? stand_on(*active) : Result<void>();
  }

  Result<void> stand_on(const catalog::VersionRow& row) {
    active_version_ = row.version;
    active_digest_ = row.model_sha256;
    content_ = row.content;
    STRATA_ASSIGN_OR_RETURN(applied_, parse_applied(content_));
    return {};
  }

  Result<void> open() {
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
    apply_.progress.kill_point("ontology:after_freeze");
    apply_.progress.progress(kFrozen);
    return {};
  }

  /// Of the rules, the schema and which rows there are: the same batches of the same table, each
  /// with as many rows, in the same folder, because facts have their filename.
  Result<std::string> fingerprint(const FrozenTable& frozen) {
    STRATA_ASSIGN_OR_RETURN(
        CellReader batches,
        only_row(*bench_,
                 Sql("SELECT sha256(string_agg(_batch_id || ' ' || n, chr(10) ORDER BY _batch_id)) "
                     "FROM (SELECT _batch_id, count(*) AS n FROM ")
                     .append(frozen.relation())
                     .raw(" GROUP BY _batch_id)")));
    std::string all =
        fmt::format("{}\n{}\n{}\n{}\n", kRules, kb_.folder(), apply_.table.made_at, batches.text());
    if (!batches.whole()) return unexpected_answer("no digest of the batches");
    for (const std::string& column : frozen.columns) all += column + '\n';
    return sha256_hex(all);
  }

  Result<std::optional<Outcome>> unchanged() {
    const auto before = std::ranges::find(applied_, apply_.stream, &AppliedStream::stream);
    if (before == applied_.end() || before->fingerprint != stream_.fingerprint) return std::nullopt;
    for (const AppliedTable& table : before->tables) {
      STRATA_ASSIGN_OR_RETURN(const bool is_there, files_.has_typed_table(table.file));
      if (!is_there) return std::nullopt;
    }
    STRATA_ASSIGN_OR_RETURN(const bool there, has_views_of(kb_, applied_));
    if (!there) return std::nullopt;
    if (is_unsettled_) STRATA_RETURN_IF_ERROR(lock_what_stands());
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
    apply_.progress.kill_point("ontology:after_synthesis");
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
    std::uint64_t version = active_version_;
    if (is_new) {
      // Of the folder's too: a catalog that was lost, or is an older one, knows less, and a job
      // that did not come to its end keeps its number, so that no two make one version's tables.
      STRATA_ASSIGN_OR_RETURN(const std::uint64_t highest, files_.highest_version());
      version = std::max(highest, active_version_) + 1;
    }
    STRATA_RETURN_IF_ERROR(write_tables(version));
    name_views(stream_, applied_);
    *std::ranges::find(next, stream_.stream, &AppliedStream::stream) = stream_;
    apply_.progress.kill_point("ontology:after_tables");
    apply_.progress.progress(kTyped);
    STRATA_ASSIGN_OR_RETURN(const auto lease, lock_what_stands());
    if (is_new) {
      STRATA_RETURN_IF_ERROR(activate(version, digest, next, *lease));
    } else {
      STRATA_RETURN_IF_ERROR(refresh(next, *lease));
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
      // The job's own name: a catalog that is newer than a restored folder may know the snapshot's
      // number with other rows.
      const auto file = files_.publish_typed_table(
          {.from = *folder_,
           .name = staged,
           .version = version,
           .as = fmt::format("{}.{}.{:06}.{}.parquet", table.view, stream_.stream, stream_.snapshot,
                             apply_.job)});
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

  /// The kb's lock is held, here and below.
  Result<void> activate(std::uint64_t version, const std::string& digest, const Applied& next,
                        const lock::Lease& lease) {
    STRATA_ASSIGN_OR_RETURN(const bool is_ours, versions_.put_pending({.version = version,
                                                                       .state = "pending",
                                                                       .model_sha256 = digest,
                                                                       .content = to_json(next),
                                                                       .job = apply_.job,
                                                                       .created = {}}));
    if (!is_ours) return overtaken();
    apply_.progress.kill_point("ontology:after_pending");
    // Paused for longer than the lock lives, it may be another job's by now, and the row too.
    if (!lease.held()) return overtaken();
    const auto activated = publish_and_activate(version, next);
    // Its views may be there all the same.
    if (!activated && lease.held()) ignore(settle_pending(kb_), "settled by the next look");
    return activated;
  }

  Result<void> publish_and_activate(std::uint64_t version, const Applied& next) {
    STRATA_RETURN_IF_ERROR(publish_views(kb_, next));
    apply_.progress.kill_point("ontology:after_publish");
    STRATA_RETURN_IF_ERROR(versions_.activate(version));
    apply_.progress.kill_point("ontology:after_activate");
    return {};
  }

  /// The row first: its views can be made of it at any time (settle.h), but not the row of them.
  Result<void> refresh(const Applied& next, const lock::Lease& lease) {
    STRATA_RETURN_IF_ERROR(versions_.refresh(active_version_, to_json(next)));
    apply_.progress.kill_point("ontology:after_refresh");
    // Paused for longer than the lock lives, both may be another job's by now.
    if (!lease.held()) return overtaken();
    const auto published = publish_views(kb_, next);
    if (!published && lease.held()) {
      ignore(versions_.refresh(active_version_, content_), "the next look makes the row's views");
    }
    return published;
  }

  /// The kb's lock, with what a process left that ended settled, and the version that this job
  /// began with standing still. A job that was taken for abandoned may be working still while the
  /// next one runs: of the two, the one that comes to its views last would take the other's away.
  Result<std::unique_ptr<lock::Lease>> lock_what_stands() {
    STRATA_ASSIGN_OR_RETURN(auto lease, kb_.lock().acquire({.kb = kb_.id().str(),
                                                            .stream = apply_.stream,
                                                            .purpose = kb::Purpose::kOntology,
                                                            .wait = kLockWait}));
    STRATA_RETURN_IF_ERROR(settle_pending(kb_));
    STRATA_ASSIGN_OR_RETURN(const auto active, versions_.active());
    const std::uint64_t version = active ? active->version : 0;
    const bool is_same = version == active_version_ && (!active || active->content == content_);
    if (!is_same) return overtaken();
    return lease;
  }

  static Error overtaken() {
    return make_error(Code::kBusy, "Another job changed the model meanwhile; start it again.");
  }

  const Apply& apply_;
  kb::Knowledgebase& kb_;
  kb::TableFiles& files_;
  catalog::OntologyVersions& versions_;
  std::unique_ptr<kb::JobFolder> folder_;
  std::unique_ptr<duck::Workbench> bench_;  // ends before its folder
  bool is_unsettled_ = false;               // a version is pending
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
