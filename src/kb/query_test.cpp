#include "kb/query.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "io/testing/expect.h"
#include "io/testing/mem_file_system.h"
#include "kb/testing/fake_worker_pool.h"

namespace strata::kb {
namespace {

class NoRows final : public duck::RunningQuery {
 public:
  const duck::QueryHead& head() const override { return head_; }
  Result<std::optional<std::string>> next() override { return std::nullopt; }

 private:
  duck::QueryHead head_;
};

class RunQueryTest : public testing::Test {
 protected:
  /// Workers answer with `codes` one after the other, then with an empty result.
  Result<QueryAnswer> run(std::vector<Code> codes,
                          std::chrono::milliseconds timeout = std::chrono::minutes(1)) {
    asked_.clear();
    workers_.on_query =
        [this, codes](const duck::QuerySpec& spec) -> Result<std::unique_ptr<duck::RunningQuery>> {
      asked_.push_back(spec);
      if (asked_.size() <= codes.size()) return make_error(codes[asked_.size() - 1], "as asked");
      return std::make_unique<NoRows>();
    };
    return run_query(workers_, *kb_, {"SELECT 1", duck::ResultFormat::kCsv, 10, timeout});
  }

  // Where nothing of the real disk is.
  const std::string path_ = "/no such folder on the real disk/root";
  FakeClock clock_{WallTime{}};
  io::MemFileSystem mem_{&clock_};
  FakeWorkerPool workers_{mem_};
  lock::AcquisitionCounter acquisitions_;
  const std::unique_ptr<Root> root_ = Root::open(mem_, clock_, {.path = path_}).value();
  const std::unique_ptr<Knowledgebases> kbs_ =
      Knowledgebases::create({mem_, clock_, *root_, workers_, acquisitions_});
  Knowledgebase* const kb_ = kbs_->create(KbId::parse("demo").value(), "file").value();
  std::vector<duck::QuerySpec> asked_;
};

TEST_F(RunQueryTest, ReadsTheNewestGenerationWithTheCallersLimits) {
  ASSERT_OK(kb_->generations().publish({}));
  ASSERT_OK_AND_ASSIGN(const QueryAnswer answer, run({}));
  EXPECT_EQ(answer.generation, 2U);
  ASSERT_EQ(asked_.size(), 1U);
  EXPECT_EQ(asked_[0].source.kb_folder, path_ + "/kb/demo");
  EXPECT_EQ(asked_[0].source.generation_file, path_ + "/kb/demo/generations/000002.duckdb");
  EXPECT_EQ(asked_[0].sql, "SELECT 1");
  EXPECT_EQ(asked_[0].format, duck::ResultFormat::kCsv);
  EXPECT_EQ(asked_[0].rows_max, 10U);
  EXPECT_EQ(asked_[0].timeout, std::chrono::minutes(1));
  EXPECT_TRUE(acquisitions_.snapshot().empty());
}

TEST_F(RunQueryTest, TriesAgainOnlyWhatMayHaveVanished) {
  const struct {
    std::vector<Code> answers;
    std::size_t tries;
    std::optional<Code> code;
  } kCases[] = {
      {{Code::kNotFound}, 2, std::nullopt},
      {{Code::kIo, Code::kNotFound}, 3, std::nullopt},
      {{Code::kIo, Code::kIo, Code::kIo}, 3, Code::kIo},
      {{Code::kNotFound, Code::kNotFound, Code::kNotFound}, 3, Code::kIo},
      {{Code::kIo, Code::kSqlError}, 2, Code::kSqlError},
      {{Code::kSqlError}, 1, Code::kSqlError},
      {{Code::kUnknownTable}, 1, Code::kUnknownTable},
      {{Code::kBusy}, 1, Code::kBusy},
      {{Code::kTimeout}, 1, Code::kTimeout},
      {{Code::kOutOfMemory}, 1, Code::kOutOfMemory},
  };
  for (const auto& test : kCases) {
    const auto answer = run(test.answers);
    EXPECT_EQ(asked_.size(), test.tries);
    if (test.code) {
      EXPECT_CODE(*test.code, answer);
    } else {
      EXPECT_OK(answer);
    }
    // All tries share the time of one.
    if (asked_.size() > 1) {
      EXPECT_LT(asked_.back().timeout, asked_.front().timeout);
    }
  }
}

TEST_F(RunQueryTest, EachTryTakesTheGenerationThatIsNewestThen) {
  workers_.on_query =
      [this](const duck::QuerySpec& spec) -> Result<std::unique_ptr<duck::RunningQuery>> {
    asked_.push_back(spec);
    if (asked_.size() > 1) return std::make_unique<NoRows>();
    EXPECT_OK(kb_->generations().publish({}));
    return make_error(Code::kNotFound, "collected");
  };
  ASSERT_OK_AND_ASSIGN(const QueryAnswer answer, run_query(workers_, *kb_,
                                                           {"SELECT 1", duck::ResultFormat::kJson,
                                                            1, std::chrono::minutes(1)}));
  EXPECT_EQ(answer.generation, 2U);
  EXPECT_EQ(asked_[1].source.generation_file, path_ + "/kb/demo/generations/000002.duckdb");
}

TEST_F(RunQueryTest, NoTryStartsAfterTheDeadline) {
  EXPECT_CODE(Code::kTimeout, run({Code::kIo, Code::kIo}, std::chrono::milliseconds(1)));
  EXPECT_EQ(asked_.size(), 1U);
}

TEST_F(RunQueryTest, AKbWithoutAGenerationIsTheServersTrouble) {
  ASSERT_OK_AND_ASSIGN(const auto folder, mem_.open_directory(path_ + "/kb/demo/generations"));
  ASSERT_OK(mem_.unlink({*folder, "000001.duckdb"}));
  EXPECT_CODE(Code::kIo, run({}));
}

}  // namespace
}  // namespace strata::kb
