#include "assay/run/follows.h"

#include <gtest/gtest.h>

namespace assay {
namespace {

TEST(Follows, HasOneForm) {
  ed25519::Seed seed{};
  seed[0] = 4;
  const Follows follows{.signer = SigningKey("somebody", seed).verify_key().ToString(), .log_root = HashBytes({})};
  const std::string text = Encode(follows);
  EXPECT_EQ(ParseFollows(text, "follows").value(), follows);
  for (std::size_t i = 0; i < text.size(); ++i) {
    EXPECT_FALSE(ParseFollows(text.substr(0, i), "follows")) << i;
    std::string other = text;
    other[i] = static_cast<char>(other[i] ^ 1);
    const auto parsed = ParseFollows(other, "follows");
    if (parsed) {
      EXPECT_EQ(Encode(*parsed), other) << "another root";
    }
  }
  EXPECT_FALSE(ParseFollows(text + "\n", "follows"));
}

}  // namespace
}  // namespace assay
