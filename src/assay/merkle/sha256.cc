#include "assay/merkle/sha256.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "assay/merkle/sha256_constants.h"
#include "assay/merkle/trial.h"

namespace assay {
namespace {

double Seconds(sha256::CompressFn compress) {
  constexpr std::size_t kBlocks = 16;
  const std::array<std::uint8_t, 64 * kBlocks> data{};
  std::array<std::uint32_t, 8> state{};
  return sha256::BestSeconds([&] { compress(state.data(), data.data(), kBlocks); });
}

// That a machine has the instructions does not say how it runs them.
sha256::CompressFn BestHere() {
  const sha256::CompressFn hardware = sha256::CompressHardware();
  if (hardware == nullptr || Seconds(hardware) > Seconds(sha256::CompressPortable)) return sha256::CompressPortable;
  return hardware;
}

void Compress(std::uint32_t state[8], const std::uint8_t* data, std::size_t blocks) {
  static const sha256::CompressFn kBest = BestHere();
  kBest(state, data, blocks);
}

}  // namespace

Result<Digest> Digest::FromHex(std::string_view text) {
  if (text.size() != 64) return Err("expected 64 hex digits, got {}", text.size());
  ASSAY_ASSIGN(const Bytes bytes, assay::FromHex(text));
  Digest digest;
  std::copy(bytes.begin(), bytes.end(), digest.bytes.begin());
  return digest;
}

Sha256::Sha256() { std::copy_n(sha256::kInitial, 8, state_.begin()); }

void Sha256::Update(ByteSpan bytes) {
  const std::size_t held = length_ % 64;
  length_ += bytes.size();
  if (held != 0) {
    const std::size_t take = std::min(bytes.size(), 64 - held);
    std::copy_n(bytes.begin(), take, block_.begin() + static_cast<std::ptrdiff_t>(held));
    bytes = bytes.subspan(take);
    if (held + take < 64) return;
    Compress(state_.data(), block_.data(), 1);
  }
  const std::size_t whole = bytes.size() / 64;
  if (whole != 0) Compress(state_.data(), bytes.data(), whole);
  bytes = bytes.subspan(whole * 64);
  std::copy(bytes.begin(), bytes.end(), block_.begin());
}

Digest Sha256::Finish() {
  const std::uint64_t bits = length_ * 8;
  const std::size_t held = length_ % 64;
  std::array<std::uint8_t, 72> padding{0x80};
  const std::size_t zeros = (held < 56 ? 56 : 120) - held;
  for (std::size_t i = 0; i < 8; ++i) padding[zeros + i] = static_cast<std::uint8_t>(bits >> (56 - 8 * i));
  Update({padding.data(), zeros + 8});
  Digest digest;
  for (std::size_t i = 0; i < 32; ++i) digest.bytes[i] = static_cast<std::uint8_t>(state_[i / 4] >> (24 - 8 * (i % 4)));
  return digest;
}

Digest HashBytes(ByteSpan bytes) {
  Sha256 hash;
  hash.Update(bytes);
  return hash.Finish();
}

}  // namespace assay
