#pragma once

#include <expected>
#include <optional>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "base/error.h"
#include "base/ids.h"
#include "io/batch_facts.h"
#include "ndjson/parse.h"
#include "stream/stream.h"

/// The life of a POST, from its whole body on (architecture.md, "Life of a POST" 3 to 8).
namespace strata::stream {

struct Batch {
  std::string_view body;      // inflated
  std::optional<BatchId> id;  // none: one is generated, and a retry would add the rows again
  WallTime arrived_at{};
  bool dry_run = false;  // judged only: nothing is stored, kept in failed/ or counted
};

struct Landed {
  io::BatchFacts facts;
  bool replayed = false;
};

/// Why nothing landed. `rejection` says which lines, where lines are to blame.
struct Refusal {
  Error error;
  std::optional<ndjson::Rejection> rejection;
};

/// Lands one batch, or finds that it landed before. When it returns Landed, the batch is durable:
/// its file and its name are on stable storage. Errors: kBadBatch (a copy is kept in failed/),
/// kBatchIdReused, kDegraded, kDiskFull, kIo, kBusy. Of a dry run that would land, the facts that
/// only a file has (attempt, bytes, its digest) are empty.
/// Takes no kb lock, touches no catalog and no DuckDB file, lists no folder.
std::expected<Landed, Refusal> land(const StreamServices& services, Stream& stream,
                                    const Batch& batch);

/// Keeps a body that was refused before it could be landed (an illegal id) in failed/, under a
/// generated name. Best effort.
void keep_rejected(const StreamServices& services, Stream& stream, std::string_view body,
                   const Error& reason);

}  // namespace strata::stream
