#include "assay/seal/chunks.h"

#include <algorithm>
#include <utility>

namespace assay::seal {
namespace {

Nonce ChunkNonce(std::uint64_t number, bool last) {
  Nonce nonce{};
  for (std::size_t i = 0; i < 8; ++i) nonce[10 - i] = static_cast<std::uint8_t>(number >> 8 * i);
  nonce[11] = last ? 1 : 0;
  return nonce;
}

}  // namespace

ChunkSealer::ChunkSealer(Secret<32> key, ByteSink sink) : key_(std::move(key)), sink_(std::move(sink)) {}

Status ChunkSealer::Put(ByteSpan plain, bool last) {
  const std::span<std::uint8_t> out(out_.data(), plain.size() + kTagSize);
  Encrypt(key_, ChunkNonce(number_++, last), plain, out);
  return sink_(out);
}

Status ChunkSealer::Write(ByteSpan plain) {
  while (!plain.empty()) {
    if (size_ == kChunkSize) {
      ASSAY_TRY(Put(held_.span(), false));
      size_ = 0;
    }
    // A chunk that more follows need not be held.
    if (size_ == 0 && plain.size() > kChunkSize) {
      ASSAY_TRY(Put(plain.first(kChunkSize), false));
      plain = plain.subspan(kChunkSize);
      continue;
    }
    const std::size_t taken = std::min(plain.size(), kChunkSize - size_);
    std::copy_n(plain.begin(), taken, held_.span().subspan(size_).begin());
    size_ += taken;
    plain = plain.subspan(taken);
  }
  return {};
}

Status ChunkSealer::Finish() { return Put(held_.span().first(size_), true); }

ChunkOpener::ChunkOpener(Secret<32> key, BufferedSource source, std::string what)
    : key_(std::move(key)), source_(std::move(source)), what_(std::move(what)) {}

bool ChunkOpener::Open(ByteSpan chunk, bool last) {
  return Decrypt(key_, ChunkNonce(number_, last), chunk, plain_.span().first(chunk.size() - kTagSize));
}

Result<ByteSpan> ChunkOpener::Next() {
  if (done_) return ByteSpan();
  ASSAY_ASSIGN(const std::size_t got, source_.Fill(std::span(in_).subspan(size_)));
  size_ += got;
  if (size_ == 0) return Err("{}: is truncated: it ends before its first chunk", what_);
  const bool last = size_ < in_.size();
  const ByteSpan chunk(in_.data(), std::min(size_, in_.size() - 1));
  if (chunk.size() < kTagSize) return Err("{}: is truncated: it ends in chunk {}", what_, number_);
  if (!Open(chunk, last)) return Err("{}: {}", what_, WhyNot(chunk, last));
  const ByteSpan plain = plain_.span().first(chunk.size() - kTagSize);
  if (last && plain.empty() && number_ > 0)
    return Err("{}: chunk {}: is empty, which only the one chunk of an empty file may be", what_, number_);
  done_ = last;
  ++number_;
  in_[0] = in_.back();
  size_ = 1;
  return plain;
}

// The other mark tells a file that was cut or added to from one that was altered.
std::string ChunkOpener::WhyNot(ByteSpan chunk, bool last) {
  const bool whole = chunk.size() == kChunkSize + kTagSize;
  const bool marked_otherwise = whole && Open(chunk, !last);
  Wipe(plain_.span());
  if (marked_otherwise && last) return fmt::format("is truncated: it ends after chunk {}, which is not its last", number_);
  if (marked_otherwise) return fmt::format("bytes follow chunk {}, which is its last", number_);
  if (whole) return fmt::format("chunk {} is altered", number_);
  return fmt::format("chunk {} is altered, or the file is truncated in it", number_);
}

}  // namespace assay::seal
