#include "catalog/postgres_catalog.h"

#include <gtest/gtest.h>

#include "catalog/testing/postgres_server.h"

namespace strata::catalog {
namespace {

class PostgresCatalogTest : public testing::Test {
 protected:
  void SetUp() override {
    STRATA_SKIP_WITHOUT_POSTGRES();
    place_ = PostgresServer::shared().create_database();
    database_ = make_postgres_database({.url = place_.url}, clock_).value();
  }

  PostgresServer::Database place_;
  const SystemClock clock_;
  std::unique_ptr<PostgresDatabase> database_;
};

TEST_F(PostgresCatalogTest, KnowledgebasesDoNotSeeEachOthersRows) {
  const auto one = make_postgres_catalog(*database_, "u-1");
  const auto two = make_postgres_catalog(*database_, "u-2");
  const ManifestRow ready{"raw_extracted.stream_a", "stream:a", 1, "ready"};
  const ManifestRow deferred{"raw_extracted.stream_a", "stream:a", std::nullopt, "deferred"};
  ASSERT_TRUE(one->put_manifest(ready));
  ASSERT_TRUE(two->put_manifest(deferred));
  ASSERT_TRUE(one->put_receiver({"a", "1"}));
  ASSERT_TRUE(two->put_receiver({"a", "2"}));
  EXPECT_EQ(one->manifest().value(), (std::vector<ManifestRow>{ready}));
  EXPECT_EQ(two->manifest().value(), (std::vector<ManifestRow>{deferred}));
  EXPECT_EQ(one->receivers().value(), (std::vector<ReceiverRow>{{"a", "1"}}));
  EXPECT_EQ(two->receivers().value(), (std::vector<ReceiverRow>{{"a", "2"}}));

  ASSERT_TRUE(one->remove_stream("a"));
  EXPECT_EQ(one->manifest().value(), std::vector<ManifestRow>{});
  EXPECT_EQ(one->receivers().value(), std::vector<ReceiverRow>{});
  EXPECT_EQ(two->manifest().value(), (std::vector<ManifestRow>{deferred}));
  EXPECT_EQ(two->receivers().value(), (std::vector<ReceiverRow>{{"a", "2"}}));
}

TEST_F(PostgresCatalogTest, TheOntologiesOfTwoKnowledgebasesAreApart) {
  const auto one = make_postgres_catalog(*database_, "u-1");
  const auto two = make_postgres_catalog(*database_, "u-2");
  const auto put = [](Catalog& catalog, std::uint64_t version, const char* job) {
    return catalog.ontology().put_pending({version, "", "m", "{}", job, {}}).value();
  };
  for (const std::uint64_t version : {1, 2}) {
    EXPECT_TRUE(put(*one, version, "j-1"));
    EXPECT_TRUE(put(*two, version, "j-2"));
    if (version == 1) {
      ASSERT_TRUE(two->ontology().activate(1));
      ASSERT_TRUE(one->ontology().activate(1));
    }
  }
  const auto others = two->content().value();
  ASSERT_EQ(others.versions.size(), 2U);
  EXPECT_EQ(others.versions.at(0).job, "j-2");
  EXPECT_EQ(others.versions.at(0).state, "pending");
  EXPECT_EQ(others.versions.at(1).state, "active");

  ASSERT_TRUE(one->ontology().refresh(1, "[]"));
  ASSERT_TRUE(one->ontology().drop_pending(2));
  EXPECT_TRUE(put(*one, 2, "j-1"));
  ASSERT_TRUE(one->ontology().activate(2));
  EXPECT_EQ(two->content().value(), others);
  ASSERT_TRUE(one->replace_content({}));
  EXPECT_EQ(two->content().value(), others);
}

TEST_F(PostgresCatalogTest, EverythingLiesInOneSchemaAlsoInOneThatAnAdministratorMade) {
  PostgresClient admin(place_.admin_url);
  admin.run("ALTER DATABASE " + place_.name + " OWNER TO postgres");
  admin.run("CREATE SCHEMA strata AUTHORIZATION " + std::string(PostgresServer::kUser));
  const auto root = make_postgres_root_catalog(*database_);
  const auto read = root->nodes();
  ASSERT_TRUE(read) << read.error().message << read.error().detail;
  EXPECT_EQ(admin.value("SELECT string_agg(schemaname || '.' || tablename, ' ' ORDER BY tablename "
                        "COLLATE \"C\") FROM pg_tables "
                        "WHERE schemaname NOT IN ('pg_catalog', 'information_schema')"),
            "strata._strata_manifest strata.jobs strata.knowledgebases strata.nodes "
            "strata.ontology_versions strata.receivers strata.schema_version");
}

}  // namespace
}  // namespace strata::catalog
