#include "stream/landing.h"

#include <fmt/format.h>

#include <boost/json.hpp>
#include <utility>
#include <vector>

#include "base/limits.h"
#include "base/sha256.h"

namespace strata::stream {
namespace {

namespace json = boost::json;

using Outcome = std::expected<Landed, Refusal>;

/// What is wrong with our files is never the producer's fault: only codes that tell it to come
/// again get through (architecture.md, "a failed write").
std::unexpected<Refusal> refuse(Error error) {
  switch (error.code) {
    case Code::kBatchIdReused:
    case Code::kBusy:
    case Code::kDegraded:
    case Code::kDiskFull:
    case Code::kIo:
    case Code::kInternal:
      break;
    default:
      error.detail = fmt::format("{}: {} {}", code_name(error.code), error.message, error.detail);
      error.message = "The batch could not be stored; send it again with the same id.";
      error.code = Code::kIo;
  }
  return std::unexpected(Refusal{std::move(error), std::nullopt});
}

Error reused(const BatchId& id, const io::BatchFacts& first, const std::string& body_sha256) {
  return make_error(
      Code::kBatchIdReused,
      fmt::format(
          "the batch id '{}' belongs to other content, which arrived at {} (body SHA-256 {}); "
          "this body's is {}. Nothing was changed. Send new records under a new id.",
          id.str(), first.arrived_at, first.body_sha256, body_sha256));
}

ndjson::Rejection one_reason(std::string reason) { return {{{1, "", std::move(reason)}}, 1, ""}; }

/// What `failed/<name>.err` says.
struct ReasonFile {
  std::string_view name;
  std::string_view code;
  std::string_view detail;
  std::string_view body_sha256;
};

std::string reason_json(const ReasonFile& reason, WallTime rejected_at,
                        const ndjson::Rejection& rejection) {
  return json::serialize(json::object{{"batch_id", reason.name},
                                      {"rejected_at", format_iso8601(rejected_at)},
                                      {"code", reason.code},
                                      {"detail", reason.detail},
                                      {"body_sha256", reason.body_sha256},
                                      {"errors", reasons_json(rejection)},
                                      {"error_count", rejection.error_count}});
}

/// One attempt to land one batch; what its steps share.
class Attempt {
 public:
  Attempt(const StreamServices& services, Stream& stream, const Batch& batch)
      : services_(services),
        stream_(stream),
        batch_(batch),
        id_(batch.id ? *batch.id : BatchId::generate(services.clock)),
        body_sha256_(sha256_hex(batch.body)) {}

  Outcome run() {
    if (const auto reason = services_.root.degraded()) {
      return refuse(make_error(Code::kDegraded, "this Strata takes no batches now: " + *reason));
    }
    auto seen = stream_.publisher().find(id_);
    if (!seen) return refuse(std::move(seen).error());
    if (*seen) return replay(**seen);
    return land_new();
  }

 private:
  /// The id stands for a batch already: replayed or 422, even if it would be refused today.
  Outcome replay(const io::Published& seen) {
    const auto same = same_content(seen.facts);
    if (!same) return refuse(same.error());
    if (!*same) return refuse(reused(id_, seen.facts, body_sha256_));
    if (batch_.dry_run) return Landed{seen.facts, true};
    auto confirmed = stream_.publisher().confirm(id_, seen);
    if (!confirmed) return refuse(std::move(confirmed).error());
    count_finished(*confirmed);
    return Landed{confirmed->facts, true};
  }

  Result<bool> same_content(const io::BatchFacts& first) {
    if (first.body_sha256 == body_sha256_) return true;
    const auto cells = ndjson::parse(batch_.body, {});
    if (!cells || cells->row_count() != first.rows) return false;
    STRATA_ASSIGN_OR_RETURN(const auto stored, stream_.columns().lookup(cells->columns));
    // A name the registry lacks cannot be in the first batch.
    return stored && content_sha256(*cells, *stored) == first.content_sha256;
  }

  Outcome land_new() {
    auto cells = ndjson::parse(batch_.body,
                               {stream_.receiver().columns.value_or(std::vector<std::string>{})});
    if (!cells) return reject(std::move(cells).error());
    const auto has_columns = cells->columns.empty() ? stream_has_columns() : Result<bool>(true);
    if (!has_columns) return refuse(has_columns.error());
    if (!*has_columns) {
      return reject(
          one_reason("no record of the body names a column, and the stream has none yet."));
    }
    if (cells->row_count() * cells->columns.size() > limits::kCellsPerBatchMax) {
      return reject(one_reason(
          fmt::format("the batch has {} rows by {} columns, nearly all empty; at most {} cells are "
                      "taken at once. "
                      "Split it: strata send does.",
                      cells->row_count(), cells->columns.size(), limits::kCellsPerBatchMax)));
    }
    auto stored = batch_.dry_run ? stream_.columns().foresee(cells->columns)
                                 : stream_.columns().store(cells->columns);
    if (!stored && stored.error().code == Code::kBadBatch) {
      return reject(one_reason(stored.error().message));
    }
    if (!stored) return refuse(std::move(stored).error());

    io::BatchFacts facts{.batch_id = id_.str(),
                         .attempt = {},
                         .partition = {},
                         .arrived_at = format_iso8601(batch_.arrived_at),
                         .rows = cells->row_count(),
                         .columns = cells->columns.size(),
                         .body_sha256 = body_sha256_,
                         .content_sha256 = content_sha256(*cells, *stored),
                         .file_sha256 = {},
                         .file_bytes = 0};
    if (batch_.dry_run) return Landed{facts, false};
    auto published = stream_.publisher().publish(id_, [&](const std::string& attempt) {
      facts.attempt = attempt;
      return encode(facts, *cells, *stored);
    });
    if (!published) return refuse(std::move(published).error());
    return settle(*published, facts);
  }

  Result<bool> stream_has_columns() {
    if (!stream_.columns().list().empty()) return true;
    // Another process may have registered some.
    STRATA_ASSIGN_OR_RETURN(const auto newest, stream_.columns().newest());
    if (!newest.empty() && !batch_.dry_run) STRATA_RETURN_IF_ERROR(stream_.columns().reload());
    return !newest.empty();
  }

  Result<io::Publisher::Encoded> encode(const io::BatchFacts& facts, const CellTable& cells,
                                        const std::vector<std::string>& stored) {
    const parquet::KeyValues key_values = batch_key_values(
        facts, {.kb = stream_.knowledgebase().id().str(), .stream = stream_.id().str()});
    io::Publisher::Encoded encoded;
    STRATA_ASSIGN_OR_RETURN(encoded.bytes, services_.writer.encode({.cells = cells,
                                                                    .stored_names = stored,
                                                                    .batch_id = facts.batch_id,
                                                                    .key_values = key_values}));
    STRATA_ASSIGN_OR_RETURN(encoded.facts, seal_batch(encoded.bytes));
    return encoded;
  }

  Outcome settle(const io::Published& published, const io::BatchFacts& own) {
    if (published.landing == io::Landing::kLanded) {
      stream_.numbers().landed(published.facts);
      return Landed{published.facts, false};
    }
    count_finished(published);
    const bool same =
        published.facts.body_sha256 == own.body_sha256 ||
        (published.facts.rows == own.rows && published.facts.content_sha256 == own.content_sha256);
    if (!same) return refuse(reused(id_, published.facts, body_sha256_));
    return Landed{published.facts, true};
  }

  /// A batch finished for a process that is gone is counted for that process, from its files.
  void count_finished(const io::Published& published) {
    if (!published.finished_for_other) return;
    const std::string process =
        published.facts.attempt.substr(0, published.facts.attempt.find('/'));
    if (process == stream_.process()) return;             // in_doubt() counts it
    if (stream_.publisher().is_staging(process)) return;  // it counts itself, or recovery does
    ignore(stream_.numbers().ended(process), "the numbers are then right after the next count");
  }

  Outcome reject(ndjson::Rejection rejection) {
    std::string detail = fmt::format("{} of the batch's lines cannot be taken; nothing landed.",
                                     rejection.error_count);
    if (!rejection.errors.empty()) {
      const ndjson::LineError& first = rejection.errors.front();
      detail = first.line == 0
                   ? first.reason + " Nothing landed."
                   : fmt::format("line {}: {} Nothing landed.", first.line, first.reason);
    }
    if (!rejection.advice.empty()) detail += " " + rejection.advice;
    if (!batch_.dry_run) keep(detail, rejection);
    return std::unexpected(
        Refusal{make_error(Code::kBadBatch, std::move(detail)), std::move(rejection)});
  }

  void keep(std::string_view detail, const ndjson::Rejection& rejection) {
    const ReasonFile reason{
        .name = id_.str(), .code = "bad_batch", .detail = detail, .body_sha256 = body_sha256_};
    ignore(
        stream_.rejects().keep({.name = id_.str(),
                                .body = batch_.body,
                                .reason_json = reason_json(reason, batch_.arrived_at, rejection)}),
        "failed/ is best effort; the answer carries the reasons");
  }

  const StreamServices& services_;
  Stream& stream_;
  const Batch& batch_;
  const BatchId id_;
  const std::string body_sha256_;
};

}  // namespace

std::expected<Landed, Refusal> land(const StreamServices& services, Stream& stream,
                                    const Batch& batch) {
  const auto inside = stream.enter();
  if (!inside) return std::unexpected(Refusal{inside.error(), std::nullopt});
  return Attempt(services, stream, batch).run();
}

void keep_rejected(const StreamServices& services, Stream& stream, std::string_view body,
                   const Error& reason) {
  const std::string name = uuid_v7(services.clock);
  const std::string digest = sha256_hex(body);
  const ReasonFile file{
      .name = name, .code = "bad_id", .detail = reason.message, .body_sha256 = digest};
  ignore(stream.rejects().keep({.name = name,
                                .body = body,
                                .reason_json = reason_json(file, services.clock.wall(), {})}),
         "failed/ is best effort; the answer carries the reason");
}

}  // namespace strata::stream
