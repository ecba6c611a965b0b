// The page's files over HTTP, and the routes that are there for people who look.
#include "assay/browser/page_files.h"
#include "support/test_station.h"

namespace assay::coordinator {
namespace {

using browser::PageFile;
using browser::PageFiles;

class PageRoutesTest : public StationTest {};
INSTANTIATE_TEST_SUITE_P(Engines, PageRoutesTest, ::testing::ValuesIn(store::Engines(true)), store::EngineName);
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(PageRoutesTest);

std::string TextOf(const HttpResponse& response) { return {response.bytes().begin(), response.bytes().end()}; }

TEST_P(PageRoutesTest, ThePageNeedsNoToken) {
  TestCaller anybody = Call("");
  const HttpResponse page = anybody.Send("GET", "/", {}, {{"Accept", "text/html"}});
  EXPECT_EQ(page.status, 200);
  EXPECT_EQ(page.Header("Content-Type"), "text/html; charset=utf-8");
  EXPECT_NE(TextOf(page).find("<script type=\"module\" src=\"/web/app.js\">"), std::string::npos);
  EXPECT_EQ(page.Header("X-Content-Type-Options"), "nosniff");
  EXPECT_TRUE(page.Header("Content-Security-Policy").starts_with("default-src 'none'; script-src 'self' 'wasm-unsafe-eval';"));
  // Nothing inline, which the policy would refuse, and nothing from elsewhere.
  EXPECT_EQ(TextOf(page).find("<style"), std::string::npos);
  EXPECT_EQ(TextOf(page).find(" style="), std::string::npos);
  EXPECT_EQ(TextOf(page).find("://"), std::string::npos);
  EXPECT_EQ(anybody.Send("GET", "/web/app.js").Header("Content-Type"), "text/javascript; charset=utf-8");
}

TEST_P(PageRoutesTest, OtherPathsAndMethodsAreErrorsOfTheApi) {
  TestCaller anybody = Call("");
  for (const char* path : {"/web/none.js", "/web/", "/web", "/index.html", "/web/a/b"}) {
    const HttpResponse missing = anybody.Send("GET", path);
    EXPECT_EQ(missing.status, 404) << path;
    EXPECT_EQ(CodeOf(missing), "not_found") << path;
  }
  const HttpResponse refused = anybody.Send("POST", "/", "{}");
  EXPECT_EQ(refused.status, 405);
  EXPECT_EQ(refused.Header("Allow"), "GET, HEAD");
}

TEST_P(PageRoutesTest, HeadSaysWhatGetWould) {
  TestCaller anybody = Call("");
  const HttpResponse whole = anybody.Send("GET", "/web/app.js"), head = anybody.Send("HEAD", "/web/app.js");
  EXPECT_EQ(head.status, 200);
  EXPECT_EQ(head.bytes().size(), 0u);
  EXPECT_EQ(head.Header("Content-Length"), std::to_string(whole.bytes().size()));
  EXPECT_EQ(head.Header("ETag"), whole.Header("ETag"));
}

TEST_P(PageRoutesTest, WhatIsKnownIsNotSentAgain) {
  TestCaller anybody = Call("");
  const HttpResponse plain = anybody.Send("GET", "/web/app.js");
  const std::string tag(plain.Header("ETag"));
  EXPECT_EQ(plain.Header("Content-Encoding"), "");
  const HttpResponse again = anybody.Send("GET", "/web/app.js", {}, {{"If-None-Match", "\"x\", " + tag}});
  EXPECT_EQ(again.status, 304);
  EXPECT_EQ(again.bytes().size(), 0u);
  EXPECT_EQ(anybody.Send("GET", "/web/dom.js", {}, {{"If-None-Match", tag}}).status, 200) << "another file";
  for (const char* none : {"br", "gzip;q=0", "x-gzip2", "gzipped", ""})
    EXPECT_EQ(anybody.Send("GET", "/web/app.js", {}, {{"Accept-Encoding", none}}).Header("Content-Encoding"), "") << none;
  const HttpResponse small = anybody.Send("GET", "/web/app.js", {}, {{"Accept-Encoding", "br, gzip;q=0.8"}});
  EXPECT_EQ(small.Header("Content-Encoding"), "gzip");
  EXPECT_NE(small.Header("ETag"), tag) << "other bytes, another tag";
  EXPECT_LT(small.bytes().size(), plain.bytes().size());
  EXPECT_EQ(small.bytes()[0], 0x1f);
}

TEST_P(PageRoutesTest, TheJudgeIsThereOrSaidNotToBe) {
  const HttpResponse judge = Call("").Send("GET", "/judge.wasm");
  const bool built = std::ranges::any_of(PageFiles(), [](const PageFile& file) { return file.name == "judge.wasm"; });
  EXPECT_EQ(judge.status, built ? 200 : 404);
  EXPECT_EQ(judge.Header("Content-Type"), built ? "application/wasm" : "application/json");
}

TEST_P(PageRoutesTest, TheScriptsAreSmall) {
  std::size_t bytes = 0;
  for (const PageFile& file : PageFiles()) {
    if (file.name.ends_with(".js")) bytes += file.gzip.size();
    EXPECT_EQ(HashBytes(file.plain).hex(), file.hash) << file.name;
  }
  EXPECT_GT(bytes, 0u);
  EXPECT_LT(bytes, 100'000u) << "of all scripts, compressed";
}

TEST_P(PageRoutesTest, ATokenLearnsWhoItIs) {
  const Json client = As(AccountRole::kClient, "alice").Read("GET", "/v1/token");
  EXPECT_EQ(client["account"], "alice");
  EXPECT_EQ(client["role"], "client");
  EXPECT_EQ(As(AccountRole::kAuditor).Read("GET", "/v1/token")["role"], "auditor");
  EXPECT_EQ(Call("").StatusOf("GET", "/v1/token"), 401);
}

TEST_P(PageRoutesTest, WorkersAreSeenByWhomTheyConcern) {
  const SigningKey key = testkit::KeyOf("worker");
  ASSERT_TRUE(station_->office().book.AddAccount("acme"));
  ASSERT_TRUE(station_->office().book.AddWorker("acme", key.verify_key().ToString(), {.hardware = R"({"device":"cpu"})"}));
  const std::string at = "/v1/workers/" + PointOf(key.verify_key());
  TestCaller client = As(AccountRole::kClient), own = As(AccountRole::kProvider, "acme"),
             other = As(AccountRole::kProvider, "other");
  for (TestCaller* caller : {&client, &own}) {
    const Json seen = caller->Read("GET", at);
    EXPECT_EQ(seen["key"], key.verify_key().ToString());
    EXPECT_EQ(seen["hardware"]["device"], "cpu");
    EXPECT_EQ(seen["record"], 0);
    EXPECT_EQ(seen["convictions"].size(), 0u);
    EXPECT_EQ(caller->Read("GET", "/v1/workers")["workers"].size(), 1u);
  }
  EXPECT_EQ(other.StatusOf("GET", at), 404);
  EXPECT_EQ(other.Read("GET", "/v1/workers")["workers"].size(), 0u);
  EXPECT_EQ(client.StatusOf("GET", "/v1/workers/" + std::string(64, '0')), 404);
  EXPECT_EQ(client.StatusOf("GET", "/v1/workers/x"), 404);
}

TEST_P(PageRoutesTest, AnOrderIsShownWithItsPolicyAndFiles) {
  TestCaller client = As(AccountRole::kClient);
  const Json view = client.Read("GET", "/v1/orders/" + Submit(client, 1));
  EXPECT_EQ(view["policy"]["replicas"], 2);
  EXPECT_EQ(view["sealed"], false);
  EXPECT_EQ(view["files"][0]["name"], "job.toml");
}

TEST_P(PageRoutesTest, EvidenceIsToldOfDisputesOfTheOrderAlone) {
  TestCaller alice = As(AccountRole::kClient, "alice"), bob = As(AccountRole::kClient, "bob");
  const std::string order = Submit(alice, 1), blob = alice.Upload("no evidence");
  EXPECT_EQ(alice.StatusOf("GET", "/v1/orders/" + order + "/evidence/" + blob), 404);
  EXPECT_EQ(alice.StatusOf("GET", "/v1/orders/" + order + "/evidence/x"), 404);
  EXPECT_EQ(bob.StatusOf("GET", "/v1/orders/" + order + "/evidence/" + blob), 404);
}

}  // namespace
}  // namespace assay::coordinator
