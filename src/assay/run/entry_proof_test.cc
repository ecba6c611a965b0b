#include "assay/run/entry_proof.h"

#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>

#include "assay/base/file.h"
#include "support/scratch.h"

namespace assay {
namespace {

Digest D(std::string_view text) { return HashBytes(AsBytes(text)); }

class EntryProofTest : public testing::Test {
 protected:
  void SetUp() override {
    path_ = scratch_.path();
    for (std::int64_t step = 0; step < 5; ++step)
      log_.Append(log_.Next(step, D("state" + std::to_string(step)), D("batch"), 7));
    ASSERT_TRUE(log_.Write(path_, "test/j", key_));
    const Bytes note = *ReadFile(path_ + "/checkpoint", 1 << 16);
    note_.assign(note.begin(), note.end());
  }

  SigningKey key_ = SigningKey::Generate("test");
  RunLog log_{D("t")};
  testkit::Scratch scratch_;
  std::string path_, note_;
};

TEST_F(EntryProofTest, EveryEntryIsProvenByWhatIsPrinted) {
  for (std::size_t i = 0; i < 5; ++i) {
    const std::string text = ToJson(ProveEntry(log_, i, note_, key_.verify_key()));
    const auto proof = ParseEntryProof(text, "p");
    ASSERT_TRUE(proof) << proof.error().message;
    EXPECT_EQ(proof->signer, key_.verify_key());
    const auto proven = OpenEntryProof(*proof, key_.verify_key(), "p");
    ASSERT_TRUE(proven) << proven.error().message;
    EXPECT_EQ(proven->entry, log_.entries()[i]);
    EXPECT_EQ(proven->checkpoint, log_.checkpoint());
    EXPECT_FALSE(OpenEntryProof(*proof, SigningKey::Generate("test").verify_key(), "p"));
  }
}

TEST_F(EntryProofTest, NothingInItCanBeExchanged) {
  const EntryProof good = ProveEntry(log_, 2, note_, key_.verify_key());
  const auto proves = [&](auto edit) {
    EntryProof bad = good;
    edit(bad);
    return OpenEntryProof(bad, key_.verify_key(), "p").has_value();
  };
  EXPECT_TRUE(proves([](EntryProof&) {}));
  EXPECT_FALSE(proves([](EntryProof& p) { p.step = 3; }));
  EXPECT_FALSE(proves([](EntryProof& p) { p.index = 3; }));
  EXPECT_FALSE(proves([](EntryProof& p) { p.size = 6; }));
  EXPECT_FALSE(proves([](EntryProof& p) { p.root = D("x"); }));
  EXPECT_FALSE(proves([](EntryProof& p) { p.hashes.pop_back(); }));
  EXPECT_FALSE(proves([](EntryProof& p) { p.hashes.push_back(D("x")); }));
  EXPECT_FALSE(proves([](EntryProof& p) { p.entry[20] ^= 1; }));
  EXPECT_FALSE(proves([](EntryProof& p) { p.entry.clear(); }));
  EXPECT_FALSE(proves([](EntryProof& p) { p.checkpoint[2] ^= 1; }));
}

TEST_F(EntryProofTest, KeysThatAreNotItsOwnOrStandThereTwiceAreRefused) {
  const std::string good = ToJson(ProveEntry(log_, 2, note_, key_.verify_key()));
  const auto with = [&](const std::string& field) { return good.substr(0, good.size() - 1) + "," + field + "}"; };
  for (const auto& [field, words] :
       {std::pair("\"step\":4", "stands there twice"), std::pair("\"note\":\"\"", "a proof has no"),
        std::pair("\"\":1", "a proof has no"), std::pair("\"x\\n\":{\"step\":1}", "a proof has no")}) {
    const auto proof = ParseEntryProof(with(field), "p");
    ASSERT_FALSE(proof) << field;
    EXPECT_NE(proof.error().message.find(words), std::string::npos) << proof.error().message;
    EXPECT_EQ(proof.error().message.find('\n'), std::string::npos) << proof.error().message;
  }
}

TEST_F(EntryProofTest, OtherTextIsRefusedInOneLine) {
  const std::string good = ToJson(ProveEntry(log_, 2, note_, key_.verify_key()));
  for (const std::string& text :
       {std::string(), std::string("[]"), std::string("{}"), good.substr(0, good.size() / 2), "[" + good + "]"}) {
    const auto proof = ParseEntryProof(text, "p");
    ASSERT_FALSE(proof) << text;
    EXPECT_EQ(proof.error().message.find('\n'), std::string::npos);
  }
}

}  // namespace
}  // namespace assay
