#include "assay/seal/seal.h"

#include <algorithm>
#include <array>
#include <utility>

#include "assay/base/check.h"
#include "assay/seal/armor.h"
#include "assay/seal/file_key.h"
#include "assay/seal/header.h"

namespace assay {

using seal::BufferedSource;
using seal::FileKey;
using seal::Stanza;

seal::Mac SealBinding::Of(std::string_view statement) const { return seal::HmacSha256(key_.bytes(), AsBytes(statement)); }

bool SealBinding::Holds(std::string_view statement, const seal::Mac& mac) const { return seal::SameMac(Of(statement), mac); }

Result<SealWriter> SealWriter::Start(std::span<const Recipient> recipients, ByteSink sink, const seal::Randomness& randomness) {
  ASSAY_TRY(seal::CheckCanSeal());
  if (recipients.empty()) return Err("expected a recipient to seal to, got none");
  FileKey key;
  randomness(key.bytes());
  std::vector<Stanza> stanzas;
  for (const Recipient& recipient : recipients) {
    ASSAY_ASSIGN(Stanza stanza, seal::WrapFileKey(key, recipient, randomness));
    stanzas.push_back(std::move(stanza));
  }
  const std::string text = seal::HeaderText(stanzas);
  const std::string header = seal::FinishHeader(text, seal::HeaderMac(key, text));
  if (header.size() > seal::kMaxHeader) {
    return Err("{} recipients: their header has {} bytes, expected at most {}", recipients.size(), header.size(),
               seal::kMaxHeader);
  }
  std::array<std::uint8_t, 16> nonce{};
  randomness(nonce);
  ASSAY_TRY(sink(AsBytes(header)));
  ASSAY_TRY(sink(nonce));
  return SealWriter(seal::ChunkSealer(seal::PayloadKey(key, nonce), std::move(sink)), SealBinding(key));
}

Status SealWriter::Keep(Status status) {
  if (!status) error_ = status.error();
  return status;
}

Status SealWriter::Write(ByteSpan plain) {
  ASSAY_CHECK(!finished_);
  if (error_) return tl::unexpected(*error_);
  return Keep(chunks_.Write(plain));
}

Status SealWriter::Finish() {
  ASSAY_CHECK(!finished_);
  if (error_) return tl::unexpected(*error_);
  finished_ = true;
  return Keep(chunks_.Finish());
}

Result<SealReader> SealReader::Open(ByteSource source, std::span<const Identity> identities, std::string what) {
  ASSAY_TRY(seal::CheckCanSeal());
  BufferedSource in(std::move(source));
  ASSAY_ASSIGN(const auto first, in.Peek());
  if (first && seal::BeginsArmor(*first)) in = BufferedSource(seal::Dearmored(std::move(in), what));
  ASSAY_ASSIGN(const std::string text, seal::ReadHeader(in, what));
  ASSAY_ASSIGN(const seal::Header header, seal::ParseHeader(text, what));
  ASSAY_ASSIGN(const FileKey key, seal::UnwrapFileKey(header.stanzas, identities, what));
  if (!seal::SameMac(seal::HeaderMac(key, seal::MacPart(text)), header.mac))
    return Err("{}: header: is altered: its MAC does not fit", what);
  std::array<std::uint8_t, 16> nonce{};
  ASSAY_ASSIGN(const std::size_t got, in.Fill(nonce));
  if (got < nonce.size()) return Err("{}: is truncated: it ends before its first chunk", what);
  return SealReader(seal::ChunkOpener(seal::PayloadKey(key, nonce), std::move(in), std::move(what)), SealBinding(key));
}

Result<std::size_t> SealReader::Read(std::span<std::uint8_t> out) {
  ASSAY_CHECK(!out.empty());
  if (error_) return tl::unexpected(*error_);
  if (held_.empty()) {
    const auto chunk = chunks_.Next();
    if (!chunk) {
      error_ = chunk.error();
      return tl::unexpected(*error_);
    }
    held_ = *chunk;
  }
  const std::size_t size = std::min(out.size(), held_.size());
  std::copy_n(held_.begin(), size, out.begin());
  held_ = held_.subspan(size);
  return size;
}

Result<SealBinding> Seal(const ByteSource& plain, std::span<const Recipient> recipients, const ByteSink& sealed) {
  ASSAY_ASSIGN(SealWriter writer, SealWriter::Start(recipients, sealed));
  seal::SecretBuffer piece(4 * seal::kChunkSize);
  while (true) {
    ASSAY_ASSIGN(const std::size_t size, plain(piece.span()));
    if (size == 0) break;
    ASSAY_TRY(writer.Write(piece.span().first(size)));
  }
  ASSAY_TRY(writer.Finish());
  return std::move(writer).TakeBinding();
}

Status Unseal(ByteSource sealed, std::span<const Identity> identities, const ByteSink& plain, std::string what,
              const BindingCheck& check) {
  ASSAY_ASSIGN(SealReader reader, SealReader::Open(std::move(sealed), identities, std::move(what)));
  if (check) ASSAY_TRY(check(reader.binding()));
  seal::SecretBuffer piece(seal::kChunkSize);
  while (true) {
    ASSAY_ASSIGN(const std::size_t size, reader.Read(piece.span()));
    if (size == 0) return {};
    ASSAY_TRY(plain(piece.span().first(size)));
  }
}

}  // namespace assay
