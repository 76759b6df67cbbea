#pragma once

#include <optional>

#include "base/error.h"
#include "base/ids.h"
#include "io/batch_facts.h"

namespace strata::io {

/// The ids whose claim was folded away by compaction or retention: they stay this stream's for
/// ever. Whoever folds writes the ledger entry durably first, takes the data name away next and the
/// claim last. Thread-safe.
class Ledger {
 public:
  virtual ~Ledger() = default;
  virtual Result<std::optional<BatchFacts>> find(const BatchId& id) = 0;
};

/// Nothing folds yet, so nothing is found. The fault suite (issue 5) fixes the ledger's format.
class EmptyLedger final : public Ledger {
 public:
  Result<std::optional<BatchFacts>> find(const BatchId&) override { return std::nullopt; }
};

}  // namespace strata::io
