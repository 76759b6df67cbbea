// Every operation against every kind of token and kb. `kExpected` is the promise, written out by
// hand: whoever adds an operation adds a row here, or this file does not compile.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <boost/json.hpp>
#include <map>
#include <set>
#include <string>
#include <string_view>

#include "api/caller.h"
#include "api/operation_table.h"
#include "api/routes.h"
#include "api/test_support.h"

namespace strata::api {
namespace {

/// What admission answers. kPass: it is none of the others; a handler may find other faults.
enum class Verdict : std::uint8_t { kPass = 0, k401, k403, k404 };
using enum Verdict;

/// By the scopes of the token, all of the kb `own`; the route's stream is `mine`.
struct Expected {
  std::string_view id;
  Verdict ingest;        // ingest:own/mine
  Verdict ingest_other;  // ingest:own/other
  Verdict read;          // read:own
  Verdict model;         // model:own
  // admin passes everywhere; without a valid token all is 401 but for what is open.
  bool open = false;
};

constexpr Expected kExpected[] = {
    {"getHealth", kPass, kPass, kPass, kPass, true},
    {"getReadiness", kPass, kPass, kPass, kPass, true},
    {"getMetrics", kPass, kPass, kPass, kPass, true},
    {"getOpenApi", kPass, kPass, kPass, kPass, true},
    {"getLimits", kPass, kPass, kPass, kPass},
    {"listNodes", kPass, kPass, kPass, kPass},
    {"whoAmI", kPass, kPass, kPass, kPass},
    {"createToken", k403, k403, k403, k403},
    {"listTokens", k403, k403, k403, k403},
    {"revokeToken", k403, k403, k403, k403},
    {"createKnowledgebase", k403, k403, k403, k403},
    {"listKnowledgebases", kPass, kPass, kPass, kPass},
    {"getKnowledgebase", kPass, kPass, kPass, kPass},
    {"migrateKnowledgebase", k403, k403, k403, k403},
    {"deleteKnowledgebase", k403, k403, k403, k403},
    {"listDocuments", k403, k403, kPass, kPass},
    {"createReceiver", k403, k403, k403, k403},
    {"listReceivers", kPass, kPass, kPass, kPass},
    {"getReceiver", kPass, k404, kPass, kPass},
    {"changeReceiver", k403, k404, k403, k403},
    {"deleteReceiver", k403, k404, k403, k403},
    {"resyncReceiver", k403, k404, k403, kPass},
    {"verifyReceiver", k403, k404, k403, k403},
    {"listBatches", kPass, k404, kPass, kPass},
    {"getBatch", kPass, k404, kPass, kPass},
    {"listColumns", k403, k404, kPass, kPass},
    {"getRates", kPass, k404, kPass, kPass},
    {"getEvents", kPass, k404, kPass, kPass},
    {"listRejects", kPass, k404, kPass, kPass},
    {"getReject", kPass, k404, kPass, kPass},
    {"deleteReject", kPass, k404, k403, k403},
    {"applyOntology", k403, k404, k403, kPass},
    {"getOntology", k403, k403, kPass, kPass},
    {"listOntologyVersions", k403, k403, kPass, kPass},
    {"listJobs", k403, k403, kPass, kPass},
    {"getJob", k403, k403, kPass, kPass},
    {"getJobEvents", k403, k403, kPass, kPass},
    {"cancelJob", k403, k403, k403, kPass},
    {"listTables", k403, k403, kPass, kPass},
    {"getSchema", k403, k403, kPass, kPass},
    {"query", k403, k403, kPass, kPass},
    {"queryByAddress", k403, k403, kPass, kPass},
    {"ingest", kPass, k404, k403, k403},
};

constexpr bool has_one_row(std::string_view id) {
  return std::ranges::count(kExpected, id, &Expected::id) == 1;
}
static_assert(std::ranges::all_of(operation_table::kRows, has_one_row, &Operation::id),
              "an operation has no row in kExpected, or two: say there who may do it");

std::string_view verdict_name(Verdict verdict) {
  constexpr std::array<std::string_view, 4> kNames{"passes", "401", "403", "404"};
  return kNames[static_cast<std::size_t>(verdict)];
}

std::string text_of(const http::Response& response, const std::string& member) {
  const auto body = boost::json::parse(response.body).as_object();
  return std::string(body.at(member).as_string());
}

/// A server's routes without its sockets: kbs `own` and `foreign`, each with streams `mine` and
/// `other`; tokens are needed.
class AccessTest : public testing::Test, protected ApiProcess {
 protected:
  AccessTest() : ApiProcess({.required = true}) {
    for (const char* name : {"own", "foreign"}) {
      const auto kb = process_.kbs->create(KbId::parse(name).value(), "file");
      EXPECT_OK(kb);
      for (const char* stream : {"mine", "other"}) {
        EXPECT_OK(process_.streams->create(**kb, StreamId::parse(stream).value(), {}));
      }
    }
    for (http::Route& route : make_routes(services_)) {
      routes_.emplace(route.method + " " + route.pattern, std::move(route));
    }
  }

  std::string make(std::vector<std::string> scopes,
                   std::optional<std::chrono::minutes> lifetime = std::nullopt) {
    kb::Tokens::Wanted wanted{.lifetime = lifetime};
    for (const std::string& text : scopes) wanted.scopes.push_back(kb::Scope::parse(text).value());
    return tokens_->create(wanted).value().text;
  }

  http::Request request(const Operation& operation, const std::string& kb,
                        const std::string& authorization) {
    http::Request head;
    head.method = operation.method;
    head.path = operation.pattern;
    head.request_id = "r";
    const std::map<std::string, std::string> values{{"kb", kb}, {"stream", "mine"}};
    for (auto at = head.path.find('{'); at != std::string::npos; at = head.path.find('{')) {
      const auto end = head.path.find('}');
      const std::string name = head.path.substr(at + 1, end - at - 1);
      const auto value = values.find(name);
      head.params[name] = value == values.end() ? "0123456789ab" : value->second;
      head.path.replace(at, end - at + 1, head.params[name]);
    }
    if (!authorization.empty()) head.headers.emplace_back("Authorization", authorization);
    return head;
  }

  std::optional<http::Response> admit(const Operation& operation, const http::Request& head) {
    const auto& route =
        routes_.at(std::string(operation.method) + " " + std::string(operation.pattern));
    auto verdict = route.admit(head);
    if (verdict) return std::nullopt;
    return std::move(verdict).error();
  }

  void expect(const Operation& operation, const std::string& kb, const std::string& token,
              Verdict wanted) {
    const http::Request head = request(operation, kb, token.empty() ? token : "Bearer " + token);
    const auto refused = admit(operation, head);
    Verdict got = kPass;
    if (refused && refused->status == 401) got = k401;
    if (refused && refused->status == 403) got = k403;
    if (refused && refused->status == 404) got = k404;
    // Whoever may ask is told by the handler that a kb is missing, and ingest looks early.
    if (kb == "missing" && wanted == kPass && got == k404) return;
    EXPECT_EQ(verdict_name(got), verdict_name(wanted))
        << operation.id << " on kb " << kb << ": " << (refused ? refused->body : "");
    if (got == k401) {
      EXPECT_THAT(refused->headers, testing::Contains(testing::Pair("WWW-Authenticate", "Bearer")));
    }
  }

  std::map<std::string, http::Route> routes_;
};

TEST_F(AccessTest, EveryOperationByScopeAndKnowledgebase) {
  const std::string expired = make({"admin"}, std::chrono::minutes(1));
  const std::string revoked = make({"admin"});
  std::string wrong = make({"admin"});
  wrong.back() = wrong.back() == '0' ? '1' : '0';
  const std::string ingest = make({"ingest:own/mine"});
  const std::string ingest_other = make({"ingest:own/other"});
  const std::string read = make({"read:own"});
  const std::string read_foreign = make({"read:foreign"});
  const std::string model = make({"model:own"});
  const std::string admin = make({"admin"});
  world_.clock.advance(std::chrono::minutes(1));
  ASSERT_OK(tokens_->revoke(revoked.substr(7, 12)));

  for (const Operation& operation : operations()) {
    const Expected& row = *std::ranges::find(kExpected, operation.id, &Expected::id);
    const bool of_kb = operation.pattern.find("{kb}") != std::string_view::npos;
    for (const std::string kb : {"own", "foreign", "missing"}) {
      for (const std::string& nobody : {std::string(), wrong, expired, revoked}) {
        expect(operation, kb, nobody, row.open ? kPass : k401);
      }
      const bool hidden = of_kb && kb != "own";
      expect(operation, kb, ingest, hidden ? k404 : row.ingest);
      expect(operation, kb, ingest_other, hidden ? k404 : row.ingest_other);
      expect(operation, kb, read, hidden ? k404 : row.read);
      expect(operation, kb, model, hidden ? k404 : row.model);
      expect(operation, kb, read_foreign, of_kb && kb != "foreign" ? k404 : row.read);
      expect(operation, kb, admin, kPass);
    }
  }
}

TEST_F(AccessTest, AScopeOfOneKnowledgebaseIsNoneOfAnother) {
  const std::string both = make({"model:foreign", "ingest:own/mine", "ingest:foreign/other"});
  const auto operation = [](std::string_view id) -> const Operation& {
    return *std::ranges::find(operations(), id, &Operation::id);
  };
  expect(operation("query"), "own", both, k403);
  expect(operation("query"), "foreign", both, kPass);
  expect(operation("resyncReceiver"), "own", both, k403);
  expect(operation("ingest"), "own", both, kPass);
  expect(operation("ingest"), "foreign", both, k403);
}

TEST_F(AccessTest, WithMetricsAuthEvenTheOpenOnesNeedAToken) {
  services_.auth.metrics_too = true;
  const std::string read = make({"read:own"});
  for (const Operation& operation : operations()) {
    if (operation.access != Access::kOpen) continue;
    expect(operation, "own", "", k401);
    expect(operation, "own", read, kPass);
  }
}

TEST_F(AccessTest, WithoutAuthEverybodyMayDoAll) {
  services_.auth.required = false;
  for (const Operation& operation : operations()) {
    expect(operation, "own", "", kPass);
    expect(operation, "own", "no token at all", kPass);
  }
}

TEST_F(AccessTest, AnUnseenKnowledgebaseLooksLikeAMissingOne) {
  const std::string token = "Bearer " + make({"ingest:own/mine", "read:foreig"});
  for (const Operation& operation : operations()) {
    if (operation.pattern.find("{kb}") == std::string_view::npos) continue;
    const auto unseen = admit(operation, request(operation, "foreign", token));
    const auto missing = admit(operation, request(operation, "foreigx", token));
    ASSERT_TRUE(unseen && missing) << operation.id;
    EXPECT_EQ(text_of(*unseen, "code"), "unknown_knowledgebase");
    std::string renamed = missing->body;
    renamed.replace(renamed.find("foreigx"), 7, "foreign");
    EXPECT_EQ(unseen->body, renamed);
    EXPECT_EQ(unseen->headers, missing->headers);
  }
}

TEST_F(AccessTest, HintsNameOnlyWhatTheTokenSees) {
  const Operation& get = *std::ranges::find(operations(), "getReceiver", &Operation::id);
  const auto detail = [&](const std::string& scope, const std::string& kb,
                          const std::string& stream) {
    http::Request asked = request(get, kb, "Bearer " + make({scope}));
    asked.params["stream"] = stream;
    const auto& route = routes_.at("GET " + std::string(get.pattern));
    if (const auto refused = admit(get, asked)) return text_of(*refused, "detail");
    return text_of(route.handler(asked), "detail");
  };
  EXPECT_EQ(detail("ingest:own/mine", "own", "others"),
            "There is no receiver 'others' that this token may see.");
  EXPECT_EQ(detail("ingest:own/mine", "own", "mines"),
            "There is no receiver 'mines' that this token may see. Did you mean 'mine'?");
  EXPECT_THAT(detail("read:own", "own", "others"), testing::HasSubstr("'other'"));
  // A scope may name a kb that is not there: the handler's own hint would name one that is.
  EXPECT_EQ(detail("read:foreigner", "foreigner", "mine"),
            "There is no knowledgebase 'foreigner' that this token may see.");
  EXPECT_EQ(detail("ingest:own/otherx", "own", "otherx"),
            "There is no receiver 'otherx' that this token may see.");
}

TEST_F(AccessTest, ListsShowOnlyWhatTheTokenSees) {
  const auto names = [&](std::string_view id, const std::string& scope, const std::string& list,
                         const std::string& member) {
    const Operation& operation = *std::ranges::find(operations(), id, &Operation::id);
    const http::Request asked = request(operation, "own", "Bearer " + make({scope}));
    const auto response = routes_.at("GET " + std::string(operation.pattern)).handler(asked);
    std::vector<std::string> seen;
    const auto body = boost::json::parse(response.body).as_object();
    for (const auto& thing : body.at(list).as_array()) {
      seen.emplace_back(thing.as_object().at(member).as_string());
    }
    return seen;
  };
  using testing::ElementsAre;
  EXPECT_THAT(names("listKnowledgebases", "admin", "knowledgebase", "id"),
              ElementsAre("demo", "foreign", "own"));
  EXPECT_THAT(names("listKnowledgebases", "ingest:own/mine", "knowledgebase", "id"),
              ElementsAre("own"));
  EXPECT_THAT(names("listReceivers", "ingest:own/mine", "receivers", "stream"),
              ElementsAre("mine"));
  EXPECT_THAT(names("listReceivers", "read:own", "receivers", "stream"),
              ElementsAre("mine", "other"));
}

TEST_F(AccessTest, HowTheHeaderIsSpelled) {
  const Operation& whoami = *std::ranges::find(operations(), "whoAmI", &Operation::id);
  const std::string token = make({"read:own"});
  const auto status = [&](const std::vector<std::string>& headers) {
    http::Request head = request(whoami, "", "");
    for (const std::string& header : headers) head.headers.emplace_back("authorization", header);
    const auto refused = admit(whoami, head);
    return refused ? refused->status : 200;
  };
  EXPECT_EQ(status({"Bearer " + token}), 200);
  EXPECT_EQ(status({"bearer " + token}), 200);
  EXPECT_EQ(status({"BEARER   " + token}), 200);
  EXPECT_EQ(status({token}), 401);
  EXPECT_EQ(status({"Bearer" + token}), 401);
  EXPECT_EQ(status({"Bearer"}), 401);
  EXPECT_EQ(status({""}), 401);
  EXPECT_EQ(status({"Basic " + token}), 401);
  EXPECT_EQ(status({"Bearer " + token + " x"}), 401);
  EXPECT_EQ(status({"Bearer " + token + ",Bearer " + token}), 401);
  EXPECT_EQ(status({"Bearer " + token, "Bearer " + token}), 400);
}

TEST_F(AccessTest, ALongAnswerEndsWithItsToken) {
  const Operation& query = *std::ranges::find(operations(), "queryByAddress", &Operation::id);
  const std::string token = make({"read:own"});
  const http::Request head = request(query, "own", "Bearer " + token);
  EXPECT_OK(authorize(query, head, services_));
  ASSERT_OK(tokens_->revoke(token.substr(7, 12)));
  EXPECT_CODE(Code::kUnauthorized, authorize(query, head, services_));
}

TEST_F(AccessTest, EventsEndWithTheirToken) {
  const Operation& events = *std::ranges::find(operations(), "getEvents", &Operation::id);
  const std::string token = make({"ingest:own/mine"});
  const auto& route = routes_.at("GET " + std::string(events.pattern));
  const http::Response response = route.handler(request(events, "own", "Bearer " + token));
  ASSERT_TRUE(response.source);
  EXPECT_OK(response.source->next());
  ASSERT_OK(tokens_->revoke(token.substr(7, 12)));
  EXPECT_CODE(Code::kUnauthorized, response.source->next());
}

}  // namespace
}  // namespace strata::api
