#include "assay/worker/messages.h"

#include <gtest/gtest.h>

#include <limits>

namespace assay::worker {
namespace {

const std::string kOrder(32, 'a');

std::string Reply(const std::string& lease, const std::string& questions = "[]") {
  return R"({"lease":)" + lease + R"(,"questions":)" + questions + R"(,"cancelled":[],"decided":[]})";
}
std::string Lease(const std::string& order, const std::string& role, const std::string& nonce = "") {
  return R"({"order":")" + order + R"(","lease":3,"role":")" + role + R"(","of":1,"nonce":")" + nonce + R"(","ends_in_ms":5})";
}

TEST(Messages, LeasesAreRead) {
  const auto none = ParseWorkReply(Reply("null"));
  ASSERT_TRUE(none) << none.error().message;
  EXPECT_FALSE(none->lease);
  const auto audit = ParseWorkReply(Reply(Lease(kOrder, "audit", std::string(64, '0'))));
  ASSERT_TRUE(audit) << audit.error().message;
  EXPECT_EQ(audit->lease->name, (LeaseName{kOrder, 3}));
  EXPECT_EQ(audit->lease->role, life::Role::kAudit);
  EXPECT_EQ(audit->lease->of, 1);
}

TEST(Messages, WhatCouldLeadElsewhereIsRefused) {
  for (const std::string& bad :
       {std::string("[]"), std::string("{}"), Reply("3"), Reply(Lease("../../../../../../../../etc/cron", "train")),
        Reply(Lease(kOrder, "run")), Reply(Lease(kOrder, "audit", "12")),
        Reply("null", R"([{"id":"a/b","order":")" + kOrder + R"(","kind":"job","body":""}])"),
        Reply("null", R"([{"id":"a","order":"x","kind":"job","body":""}])"),
        Reply("null", R"([{"id":"a","order":")" + kOrder + R"(","kind":"job","body":"!"}])"),
        std::string(R"({"lease":null,"questions":[],"cancelled":[],"decided":[".."]})")}) {
    EXPECT_FALSE(ParseWorkReply(bad)) << bad;
  }
  for (const char* name : {"", "/a", "a/", "a//b", "a/../b", ".", "..", "a b", "a\\b", "a\"b", "a/./b", "\x7f"})
    EXPECT_FALSE(IsFileName(name)) << name;
  for (const char* name : {"a", "data/x.txt", "..a", "snapshots/step-0000000004.safetensors"})
    EXPECT_TRUE(IsFileName(name)) << name;
  EXPECT_FALSE(ParsePapers(R"({"order":"x","run":{"receipt":"r","files":[{"name":"../x","sha256":")" + std::string(64, '0') +
                           R"(","bytes":1}]}})"));
}

TEST(Messages, WhatIsKeptIsReadAgain) {
  const Delivery delivery{.receipt = "line\n",
                          .proof = {HashBytes({})},
                          .model = 7,
                          .files = {{.name = "a/b", .sha256 = HashBytes({}), .bytes = 9}}};
  EXPECT_EQ(ParseDelivery(ToJson(delivery)).value(), delivery);
  const Commitment commitment{.note = "note\n", .proof = {HashBytes({}), HashBytes({})}};
  EXPECT_EQ(ParseCommitment(ToJson(commitment)).value(), commitment);
}

TEST(Messages, ASampleNamesTheRecordThatItIs) {
  const std::string plain = ToJson({Sample{.phase = "train"}});
  EXPECT_EQ(plain.find("chain"), std::string::npos) << plain;
  EXPECT_EQ(plain.find("gpu"), std::string::npos) << plain;
  const monitor::GpuFigures gpu{.utilisation = 98, .power_mw = 512500};
  const std::string text = ToJson({Sample{.phase = "train",
                                          .gpu = gpu,
                                          .gpu_identity = {.name = "H200", .uuid = "GPU-1", .memory_total = 4},
                                          .index = 7,
                                          .chain = std::string(64, 'a')}});
  EXPECT_NE(text.find(R"("gpu":{"name":"H200","index":0,"uuid":"GPU-1","total":4.0,"util":98.0,"power":512.5})"),
            std::string::npos)
      << text;
  EXPECT_NE(text.find(R"("index":7,"chain":"aaaa)"), std::string::npos) << text;
}

TEST(Messages, OfSealedOrdersNothingIsToldButHowFarTheyAre) {
  const Sample sample{
      .at_ms = 5, .phase = "train", .step = 3, .steps = 9, .loss = 0.5F, .rate = 2, .unit = "tokens", .sealed = true};
  EXPECT_EQ(ToJson({sample}), R"({"samples":[{"at":5,"phase":"train","step":3,"steps":9}]})");
}

TEST(Messages, ALossThatIsNoNumberIsNull) {
  const std::string text = ToJson({Sample{.phase = "train", .loss = std::numeric_limits<float>::quiet_NaN()}});
  EXPECT_NE(text.find(R"("loss":null)"), std::string::npos) << text;
}

}  // namespace
}  // namespace assay::worker
