#include "assay/sign/witness.h"

#include <gtest/gtest.h>

#include "assay/base/base64.h"
#include "assay/merkle/sha256.h"
#include "assay/sign/note.h"

namespace assay {
namespace {

Digest DigestOf(std::string_view text) { return HashBytes(AsBytes(text)); }

SigningKey KeyOf(const std::string& name) { return {name, DigestOf(name).bytes}; }

constexpr std::string_view kDash = "\xe2\x80\x94 ";

std::uint32_t CosignatureHash(const VerifyKey& key) {
  Bytes bytes(key.name().begin(), key.name().end());
  bytes.push_back('\n');
  bytes.push_back(4);
  bytes.insert(bytes.end(), key.point().begin(), key.point().end());
  const Digest digest = HashBytes(bytes);
  return std::uint32_t{digest.bytes[0]} << 24 | std::uint32_t{digest.bytes[1]} << 16 | std::uint32_t{digest.bytes[2]} << 8 |
         digest.bytes[3];
}

std::string CosignatureKey(const VerifyKey& key) {
  Bytes data = {4};
  data.insert(data.end(), key.point().begin(), key.point().end());
  return fmt::format("{}+{:08x}+{}", key.name(), CosignatureHash(key), Base64(data));
}

// As C2SP's tlog-cosignature has it.
std::string Cosign(const std::string& note, const SigningKey& key, std::uint64_t time) {
  const std::string text = note.substr(0, note.find("\n\n") + 1);
  const Signature signature = key.Sign(AsBytes(fmt::format("cosignature/v1\ntime {}\n{}", time, text)));
  Bytes bytes;
  const std::uint32_t hash = CosignatureHash(key.verify_key());
  for (int shift = 24; shift >= 0; shift -= 8) bytes.push_back(static_cast<std::uint8_t>(hash >> shift));
  for (int shift = 56; shift >= 0; shift -= 8) bytes.push_back(static_cast<std::uint8_t>(time >> shift));
  bytes.insert(bytes.end(), signature.begin(), signature.end());
  return note + fmt::format("{}{} {}\n", kDash, key.verify_key().name(), Base64(bytes));
}

TEST(Witness, AcceptsCosignaturesOfItsOwn) {
  const SigningKey key = KeyOf("witness");
  const std::string note =
      SignCheckpoint({.origin = "assay.life/x", .size = 3, .root = DigestOf("root")}, KeyOf("coordinator"));
  const auto witness = WitnessKey::Parse(CosignatureKey(key.verify_key()));
  ASSERT_TRUE(witness) << witness.error().message;
  EXPECT_FALSE(witness->Verify(note, "life"));
  const std::string seen = Cosign(note, key, 1'700'000'000);
  EXPECT_TRUE(witness->Verify(seen, "life"));
  EXPECT_EQ(witness->SeenAt(seen), 1'700'000'000u);
  EXPECT_EQ(witness->SeenAt(Cosign(seen, key, 1'600'000'000)), 1'600'000'000u) << "the earlier of two";
  EXPECT_EQ(witness->SeenAt(note), std::nullopt);
  EXPECT_TRUE(OpenCheckpoint(seen, KeyOf("coordinator").verify_key(), "life")) << "the coordinator's is beside it";
  EXPECT_FALSE(witness->Verify(Cosign(note, KeyOf("stranger"), 1), "life"));
  std::string edited = seen;
  edited[edited.find("\n3\n") + 1] = '4';
  EXPECT_FALSE(witness->Verify(edited, "life"));
}

TEST(Witness, ReadsKeysOfBothTypesAndNothingElse) {
  const VerifyKey key = KeyOf("witness").verify_key();
  EXPECT_TRUE(WitnessKey::Parse(key.ToString()));
  std::string text = CosignatureKey(key);
  EXPECT_EQ(WitnessKey::Parse(text)->id(), text.substr(0, text.find('+', text.find('+') + 1)));
  text[text.find('+') + 1] ^= 1;
  EXPECT_FALSE(WitnessKey::Parse(text)) << "another hash";
  for (const char* bad : {"", "a", "a+b", "a+00000000+AAAA", "+00000000+"}) EXPECT_FALSE(WitnessKey::Parse(bad)) << bad;
}

}  // namespace
}  // namespace assay
