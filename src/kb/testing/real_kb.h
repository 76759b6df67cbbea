#pragma once

#include <memory>
#include <string>

#include "base/check.h"
#include "base/clock.h"
#include "duck/worker_pool.h"
#include "io/posix_file_system.h"
#include "io/testing/temp_dir.h"
#include "kb/knowledgebases.h"
#include "kb/root.h"

namespace strata::kb {

/// For tests of other folders: a kb `demo` on disk in a root of its own, gone with it, and a pool
/// of real workers, each started as `<program> worker`.
class RealKb {
 public:
  explicit RealKb(const std::string& program)
      : workers_(duck::make_worker_pool({.program = program})),
        kbs_(Knowledgebases::create({*fs_, clock_, *root_, *workers_, acquisitions_})) {
    auto made = kbs_->create(KbId::parse("demo").value(), "file");
    STRATA_CHECK(made.has_value());
    kb_ = *made;
  }

  Knowledgebase& kb() { return *kb_; }
  duck::WorkerPool& workers() { return *workers_; }

 private:
  const io::TempDir temp_;
  const SystemClock clock_;
  const std::unique_ptr<io::FileSystem> fs_ = io::make_posix_file_system();
  const std::unique_ptr<Root> root_ =
      Root::open(*fs_, clock_, {.path = temp_.path() + "/it's [a] *root*"}).value();
  const std::unique_ptr<duck::WorkerPool> workers_;
  lock::AcquisitionCounter acquisitions_;
  const std::unique_ptr<Knowledgebases> kbs_;
  Knowledgebase* kb_ = nullptr;
};

}  // namespace strata::kb
