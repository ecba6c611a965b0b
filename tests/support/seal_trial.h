// What the tests of seal/ share: known identities, randomness that repeats itself, whole files in memory.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "assay/seal/seal.h"

namespace assay::seal {

// Tests of what needs libsodium, which builds for other processors do not have.
class SealTrial : public testing::Test {
 protected:
  void SetUp() override {
    if (!CanSeal()) GTEST_SKIP() << CheckCanSeal().error().message;
  }
};

// The byte 1 for the first request, 2 for the second and so on, as in tests/vectors/sealed.py.
inline Randomness Counting() {
  return [calls = std::uint8_t{0}](std::span<std::uint8_t> out) mutable {
    ++calls;
    for (std::uint8_t& byte : out) byte = calls;
  };
}

// The identity whose 32 bytes have this value.
inline Identity Known(std::uint8_t byte) {
  return *Identity::Generate([byte](std::span<std::uint8_t> out) {
    for (std::uint8_t& b : out) b = byte;
  });
}

template <class... Bytes>
std::vector<Identity> KnownIdentities(Bytes... bytes) {
  std::vector<Identity> out;
  (out.push_back(Known(static_cast<std::uint8_t>(bytes))), ...);
  return out;
}

inline std::vector<Recipient> RecipientsOf(std::span<const Identity> identities) {
  std::vector<Recipient> out;
  for (const Identity& identity : identities) out.push_back(identity.recipient());
  return out;
}

// Bytes in which no two chunks are alike.
inline Bytes Pattern(std::size_t size) {
  Bytes out(size);
  for (std::uint64_t i = 0; i < size; ++i) out[i] = static_cast<std::uint8_t>(i * i / 251);
  return out;
}

inline Bytes Sealed(ByteSpan plain, std::span<const Identity> to, const Randomness& randomness = Counting()) {
  Bytes out;
  const ByteSink sink = [&](ByteSpan bytes) -> Status {
    out.insert(out.end(), bytes.begin(), bytes.end());
    return {};
  };
  auto writer = SealWriter::Start(RecipientsOf(to), sink, randomness);
  EXPECT_TRUE(writer);
  EXPECT_TRUE(writer->Write(plain));
  EXPECT_TRUE(writer->Finish());
  return out;
}

inline Result<Bytes> Opened(ByteSpan sealed, std::span<const Identity> identities) {
  Bytes out;
  const ByteSink sink = [&](ByteSpan bytes) -> Status {
    out.insert(out.end(), bytes.begin(), bytes.end());
    return {};
  };
  ASSAY_TRY(Unseal(SpanSource(sealed), identities, sink, "x.age"));
  return out;
}

template <class T>
std::string ErrorOf(const Result<T>& result) {
  return result ? "no error" : result.error().message;
}

}  // namespace assay::seal
