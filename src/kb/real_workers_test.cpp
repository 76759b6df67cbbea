#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <filesystem>
#include <latch>
#include <thread>
#include <utility>
#include <vector>

#include "base/limits.h"
#include "io/posix_file_system.h"
#include "io/testing/expect.h"
#include "io/testing/temp_dir.h"
#include "kb/knowledgebases.h"
#include "kb/query.h"

/// Generations and queries with worker processes and DuckDB itself.
namespace strata::kb {
namespace {

using testing::ElementsAre;

class RealWorkersTest : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_OK_AND_ASSIGN(kb_, kbs_->create(KbId::parse("demo").value(), "file"));
  }

  /// The rows of `sql` as JSON, without the brackets around them.
  Result<std::string> rows(const std::string& sql) {
    STRATA_ASSIGN_OR_RETURN(const QueryAnswer answer,
                            run_query(*workers_, *kb_,
                                      {sql, duck::ResultFormat::kJson, limits::kQueryRowsDefault,
                                       limits::kQueryTimeoutCeiling}));
    std::string rows;
    while (true) {
      STRATA_ASSIGN_OR_RETURN(const auto piece, answer.running->next());
      if (!piece) return rows;
      rows += *piece;
    }
  }
  static std::vector<duck::Sql> view_that_counts(std::uint64_t number) {
    return {duck::Sql("CREATE OR REPLACE VIEW raw_extracted.stream_a AS SELECT ")
                .number(number)
                .raw(" AS x")};
  }
  std::vector<std::string> staging() const {
    std::vector<std::string> names;
    for (const auto& entry : std::filesystem::directory_iterator(kb_->folder() + "/staging")) {
      names.push_back(entry.path().filename());
    }
    return names;
  }

  const io::TempDir temp_;
  const SystemClock clock_;
  const std::unique_ptr<io::FileSystem> fs_ = io::make_posix_file_system();
  const std::unique_ptr<Root> root_ =
      Root::open(*fs_, clock_, {.path = temp_.path() + "/it's [a] *root*"}).value();
  const std::unique_ptr<duck::WorkerPool> workers_ =
      duck::make_worker_pool({.program = STRATA_WORKER_STUB, .workers_max = 2});
  lock::AcquisitionCounter acquisitions_;
  const std::unique_ptr<Knowledgebases> kbs_ =
      Knowledgebases::create({*fs_, clock_, *root_, *workers_, acquisitions_});
  Knowledgebase* kb_ = nullptr;
};

TEST_F(RealWorkersTest, AFreshKbHasItsSchemasAndNoView) {
  ASSERT_OK_AND_ASSIGN(const Generation newest, kb_->generations().newest());
  ASSERT_OK_AND_ASSIGN(const auto views, kb_->generations().views(newest));
  EXPECT_TRUE(views.empty());
  ASSERT_OK_AND_ASSIGN(const std::string tables, rows("SHOW TABLES"));
  EXPECT_EQ(tables, "");
  // Both are there for outside clients: a view in either is made without making its schema.
  ASSERT_OK(
      kb_->generations().publish({duck::Sql("CREATE VIEW ontology.o AS SELECT 1 AS x"),
                                  duck::Sql("CREATE VIEW raw_extracted.r AS SELECT 2 AS x")}));
  ASSERT_OK_AND_ASSIGN(const std::string made, rows("SHOW TABLES"));
  EXPECT_EQ(made, R"(["ontology.o"],["raw_extracted.r"])");
  EXPECT_CODE(Code::kUnknownTable, rows("SELECT * FROM raw_extracted.stream_a"));
}

TEST_F(RealWorkersTest, DdlThatFailsPublishesNothing) {
  std::vector<duck::Sql> ddl = view_that_counts(1);
  ddl.push_back(duck::Sql("CREATE VIEW no_such_schema.v AS SELECT 1"));
  EXPECT_FALSE(kb_->generations().publish(ddl));
  EXPECT_EQ(kb_->generations().newest().value().number, 1U);
  EXPECT_THAT(staging(), ElementsAre());
}

/// A generation is one number in one view, so an answer shows which one it was read from.
TEST_F(RealWorkersTest, ReadersOfAGenerationThatChangesNeverGoBackAndNeverFail) {
  constexpr std::uint64_t kLast = 8;
  ASSERT_OK(kb_->generations().publish(view_that_counts(2)));
  std::atomic<bool> done = false;
  std::latch reading(2);
  {
    std::vector<std::jthread> readers;
    for (int i = 0; i < 2; ++i) {
      readers.emplace_back([&] {
        std::uint64_t last = 0;
        bool started = false;
        while (!done) {
          const auto answer = rows("SELECT x FROM raw_extracted.stream_a");
          if (!std::exchange(started, true)) reading.count_down();
          ASSERT_OK(answer);
          const std::uint64_t number = std::stoull(answer->substr(1));
          EXPECT_GE(number, last);
          last = number;
        }
      });
    }
    reading.wait();
    for (std::uint64_t number = 3; number <= kLast; ++number) {
      const auto published = kb_->generations().publish(view_that_counts(number));
      EXPECT_OK(published);
      EXPECT_EQ(published->number, number);
    }
    done = true;
  }
  EXPECT_EQ(rows("SELECT x FROM raw_extracted.stream_a").value(), "[8]");
  ASSERT_OK_AND_ASSIGN(const Generation newest, kb_->generations().newest());
  ASSERT_OK_AND_ASSIGN(const auto views, kb_->generations().views(newest));
  ASSERT_EQ(views.size(), 1U);
  EXPECT_EQ(views[0].schema, "raw_extracted");
  EXPECT_EQ(views[0].name, "stream_a");
  EXPECT_THAT(staging(), ElementsAre());
}

}  // namespace
}  // namespace strata::kb
