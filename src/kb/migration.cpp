#include "kb/migration.h"

#include <fmt/format.h>

#include <utility>

#include "io/kill_point.h"
#include "kb/catalog_file.h"

namespace strata::kb {
namespace {

using Entry = BackendHistory::Entry;

constexpr BackendState kOnFile{.backend = Backend::kFile};
constexpr BackendState kMoving{.backend = Backend::kFile, .migrating = true};
constexpr BackendState kOnPostgres{.backend = Backend::kPostgres};

Error another_moves_it() {
  return make_error(Code::kBusy,
                    "Another process moves this knowledgebase's catalog too: run it again in a "
                    "moment.");
}

class Mover {
 public:
  explicit Mover(const Migration& migration) : m_(migration) {}

  Result<void> run() {
    STRATA_ASSIGN_OR_RETURN(began_, m_.history.newest());
    if (began_.state.backend == Backend::kFile) {
      if (const auto moved = move(); !moved) return give_up(moved.error());
    }
    const auto finished = finish();
    if (finished) return {};
    Error error = finished.error();
    error.message = fmt::format(
        "The catalog is in PostgreSQL by now, but not all that follows was done; run it again. {}",
        error.message);
    return error;
  }

 private:
  Result<void> move() {
    // One that is under way was begun by a process that ended: it is this one's now.
    if (!began_.state.migrating) STRATA_RETURN_IF_ERROR(begin());
    STRATA_RETURN_IF_ERROR(copy());
    io::kill_point("migrate:after_compare");
    STRATA_RETURN_IF_ERROR(heed());
    STRATA_RETURN_IF_ERROR(beat_by_postgres());
    m_.progress.step("Switching over");
    STRATA_RETURN_IF_ERROR(
        follow(kOnPostgres, {"migrate:after_switch_sync", "migrate:after_switch_name"}));
    io::kill_point("migrate:after_switch");
    return {};
  }

  Result<void> begin() {
    m_.progress.step("Reaching PostgreSQL");
    STRATA_RETURN_IF_ERROR(m_.reach_postgres());
    STRATA_RETURN_IF_ERROR(
        follow(kMoving, {"migrate:after_begin_sync", "migrate:after_begin_name"}));
    io::kill_point("migrate:after_begin");
    return {};
  }

  /// Makes `state` the one that follows, and the one this goes on from.
  Result<void> follow(const BackendState& state, const io::NamedPoints& points) {
    const auto appended = m_.history.append(began_, state, points);
    overtaken_ = !appended && appended.error().code == Code::kExists;
    if (overtaken_) return another_moves_it();
    STRATA_RETURN_IF_ERROR(appended);
    began_ = {state, began_.number + 1};
    return {};
  }

  Result<void> copy() {
    for (int i = 0; i < kMigrationCopies; ++i) {
      STRATA_RETURN_IF_ERROR(heed());
      m_.progress.step("Copying the rows");
      STRATA_ASSIGN_OR_RETURN(const auto rows, m_.file.content());
      STRATA_RETURN_IF_ERROR(see_that_it_is_ours());
      STRATA_RETURN_IF_ERROR(m_.postgres.replace_content(rows));
      io::kill_point("migrate:after_copy");
      m_.progress.step("Comparing the rows");
      STRATA_ASSIGN_OR_RETURN(const auto copied, m_.postgres.content());
      STRATA_ASSIGN_OR_RETURN(const auto there, m_.file.content());
      if (copied == there) return {};
    }
    return make_error(Code::kBusy,
                      fmt::format("The rows in PostgreSQL were not those of the file, {} times in "
                                  "a row: rows keep being put. Try again when there is less to do.",
                                  kMigrationCopies));
  }

  /// Whoever was paused past its lock does not replace what another has moved since.
  Result<void> see_that_it_is_ours() {
    STRATA_ASSIGN_OR_RETURN(const Entry newest, m_.history.newest());
    overtaken_ = newest != began_;
    if (overtaken_) return another_moves_it();
    return {};
  }

  /// Who is abandoned goes by the database's clock, and the beats that were copied are by this
  /// machine's: without one by PostgreSQL's, the job that moves the catalog could be taken for
  /// abandoned at once.
  Result<void> beat_by_postgres() {
    STRATA_ASSIGN_OR_RETURN(const auto rows, m_.postgres.content());
    for (const catalog::JobRow& job : rows.jobs) {
      if (!job.is_under_way()) continue;
      STRATA_RETURN_IF_ERROR(m_.postgres.jobs().beat({job.id, job.owner, job.step, job.progress}));
    }
    return {};
  }

  Result<void> heed() const {
    if (!m_.progress.cancelled()) return {};
    return make_error(Code::kCancelled, "It was cancelled.");
  }

  /// What this call began, or went on with, it takes back, so that receivers can be changed.
  Error give_up(Error error) {
    const auto newest = m_.history.newest();
    if (overtaken_) {
      if (newest && newest->state == kOnPostgres) {
        ignore(m_.rebuild_index(), "what this copied may hide rows; the next start shows them too");
      }
      return error;
    }
    // An append that failed may hold all the same.
    if (newest && newest->state == kOnPostgres) {
      error.message = "The catalog is in PostgreSQL by now; run it again. " + error.message;
    } else if (newest && (newest->state == kOnFile || m_.history.append(*newest, kOnFile))) {
      error.message = "The catalog was not moved, and is in its file as before. " + error.message;
    } else {
      error.message =
          "The catalog was not moved, and receivers cannot be changed until it is run again. " +
          error.message;
    }
    return error;
  }

  Result<void> finish() {
    if (m_.history.last_seen().number > 0) STRATA_RETURN_IF_ERROR(m_.history.make_durable());
    m_.progress.step("Rebuilding the index");
    STRATA_RETURN_IF_ERROR(m_.rebuild_index());
    io::kill_point("migrate:after_rebuild");
    STRATA_RETURN_IF_ERROR(m_.put_root_row());
    io::kill_point("migrate:after_root_row");
    return set_file_aside();
  }

  /// Nothing is lost: what was copied stands under another name. One there already is the copied
  /// one, and a catalog.sqlite beside it was made by a call that looked just before the move.
  Result<void> set_file_aside() {
    const auto renamed =
        m_.fs.rename_no_replace({m_.kb_folder, kCatalogFile}, {m_.kb_folder, kMigratedCatalogFile});
    if (!renamed && renamed.error().code == Code::kNotFound) return {};
    if (!renamed && renamed.error().code != Code::kExists) return renamed;
    io::kill_point("migrate:after_aside");
    return m_.fs.sync_directory(m_.kb_folder);
  }

  const Migration& m_;
  Entry began_;             // the newest there was when this took it up, or what it added since
  bool overtaken_ = false;  // by another process, whose move it is now
};

}  // namespace

Result<void> migrate(const Migration& migration) { return Mover(migration).run(); }

}  // namespace strata::kb
