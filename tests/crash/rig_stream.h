#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "io/ledger.h"
#include "io/publish.h"
#include "mutant_file_system.h"
#include "parquet/batch_writer.h"
#include "stream/batch_file.h"

namespace strata::crash {

/// The product's ledger; with the mutant, what was asked for before the publish is what it says
/// during it.
class RigLedger final : public io::Ledger {
 public:
  RigLedger(std::unique_ptr<io::FileLedger> ledger, bool before_claim)
      : ledger_(std::move(ledger)), before_claim_(before_claim) {}
  Result<void> begin_publish(const BatchId& id);
  Result<std::optional<io::BatchFacts>> find(const BatchId& id) override;
  io::FileLedger& files() { return *ledger_; }

 private:
  std::unique_ptr<io::FileLedger> ledger_;
  const bool before_claim_;
};

/// What is there of a stream, read file by file.
struct Survey {
  struct Batch {
    std::string id;
    std::string content_sha256;  // "damaged" where the file does not certify itself
    std::string file_sha256;
  };
  std::vector<Batch> batches;       // one for every place an id's rows are read from
  std::vector<std::string> broken;  // sentences: what the protocol never leaves behind
};

/// The content of an id is a function of the id, so that anybody can say what it should be:
/// tests/crash/rig.mjs does.
/// One process's view of one stream `<root>/kb/demo/strata/streams/s`, through the product's
/// publisher and ledger; folding and exchanging are this rig's own, with the product's parts.
class RigStream {
 public:
  struct Options {
    std::string root;
    std::string process;
    Mutant mutant = Mutant::kNone;
  };
  /// Makes the folders that are missing, durably. `fs` must outlive it.
  static Result<std::unique_ptr<RigStream>> open(io::FileSystem& fs, const Options& options);

  /// As the product lands a batch: replay before verdict, publish else.
  Result<io::Published> land(const BatchId& id);
  /// Straight to the claim, as somebody does who saw the id free a moment ago.
  Result<io::Published> publish(const BatchId& id);

  /// Moves the rows of landed batches to `processed/`, writes their ledger entry, takes their data
  /// names and claims away, in that order.
  Result<void> fold(const std::vector<BatchId>& ids);
  /// Puts a new folder with the same files in the place of `data/`, as compaction does. Never
  /// beside fold().
  Result<void> exchange(const std::string& name);

  /// The product's recovery, then this rig's: folds and exchanges that were under way are finished.
  Result<void> recover();
  Result<Survey> survey();

  RigStream(io::FileSystem& fs, Options options) : fs_(fs), options_(std::move(options)) {}

 private:
  Result<void> open_parts();
  Result<io::Publisher::Encoded> encode(const std::string& id, const std::string& attempt);
  Result<void> take_names(const std::vector<std::string>& ids);
  Result<void> link_files(const io::Directory& from, const io::Directory& to);
  Result<void> finish_exchanges();
  Result<std::vector<std::string>> names_in(const io::Directory& folder);
  Result<void> survey_data(Survey& survey);
  Result<void> survey_claims(Survey& survey);
  Survey::Batch look(io::Entry file, const std::string& id);

  io::FileSystem& fs_;
  const Options options_;
  std::unique_ptr<io::Directory> folder_, processed_;
  std::unique_ptr<stream::FooterFactsReader> facts_;
  std::unique_ptr<RigLedger> ledger_;
  std::unique_ptr<io::Publisher> publisher_;
};

}  // namespace strata::crash
