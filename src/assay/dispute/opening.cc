#include "assay/dispute/opening.h"

#include <algorithm>

#include "assay/base/check.h"
#include "assay/dispute/question.h"

namespace assay::dispute {
namespace {

constexpr std::string_view kTag = "assay/opening/3";
constexpr std::string_view kAskedTag = "assay/asked/2";
constexpr char kNobody[] = "referee";  // a key's name is no part of what it signs

Bytes MessageOf(std::string_view tag, ByteSpan bytes) {
  ByteWriter out;
  out.Raw(AsBytes(tag));
  out.U8('\n');
  out.Raw(HashBytes(bytes).bytes);
  return out.Take();
}

Bytes AskedMessageOf(ByteSpan question, const Digest& receipt) {
  Bytes message = MessageOf(kAskedTag, question);
  message.insert(message.end(), receipt.bytes.begin(), receipt.bytes.end());
  return message;
}

bool IsSigned(ByteSpan message, const Signature& signature, const KeyPoint& key) {
  return VerifyKey(kNobody, key).Verify(message, signature);
}

Bytes WithSignature(Bytes bytes, ByteSpan message, const SigningKey& key) {
  const Signature signature = key.Sign(message);
  bytes.insert(bytes.end(), signature.begin(), signature.end());
  return bytes;
}

struct Split {
  ByteSpan bytes;
  Signature signature{};
};

Result<Split> TakeSignature(ByteSpan message, std::size_t most, std::string_view what) {
  Split split;
  if (message.size() < split.signature.size() || message.size() > most + split.signature.size()) {
    return Err("{}: expected at most {} bytes and a signature, got {}", what, most, message.size());
  }
  split.bytes = message.first(message.size() - split.signature.size());
  std::ranges::copy(message.last(split.signature.size()), split.signature.begin());
  return split;
}

template <class Array>
Status ReadArray(ByteReader& in, Array& to) {
  ASSAY_ASSIGN(const ByteSpan bytes, in.Raw(to.size()));
  std::ranges::copy(bytes, to.begin());
  return {};
}

Result<Opening> ReadOpening(ByteSpan bytes) {
  ByteReader in(bytes, "opening");
  ASSAY_ASSIGN(const std::string tag, in.String());
  if (tag != kTag) return Err("opening: expected {}", kTag);
  Opening opening;
  ASSAY_TRY(ReadArray(in, opening.referee));
  ASSAY_TRY(ReadArray(in, opening.nonce.bytes));
  ASSAY_ASSIGN(const std::uint32_t count, in.U32());
  if (count > kMaxDisputeReceipts || count > in.remaining() / 32) {
    return Err("opening: {} receipts, expected at most {}", count, kMaxDisputeReceipts);
  }
  for (std::uint32_t i = 0; i < count; ++i) {
    Digest receipt;
    ASSAY_TRY(ReadArray(in, receipt.bytes));
    if (!opening.receipts.empty() && !(opening.receipts.back().bytes < receipt.bytes)) {
      return Err("opening: receipts are not in ascending order");
    }
    opening.receipts.push_back(receipt);
  }
  ASSAY_ASSIGN(opening.parties, in.U32());
  if (opening.parties < 1 || opening.parties > count) {
    return Err("opening: {} parties of {} receipts, expected at least one and no more than there are receipts", opening.parties,
               count);
  }
  ASSAY_ASSIGN(opening.shown, in.String());
  ASSAY_TRY(in.End());
  return opening;
}

}  // namespace

Bytes Encode(const Opening& opening) {
  ByteWriter out;
  out.String(kTag);
  out.Raw(opening.referee);
  out.Raw(opening.nonce.bytes);
  out.U32(static_cast<std::uint32_t>(opening.receipts.size()));
  for (const Digest& receipt : opening.receipts) out.Raw(receipt.bytes);
  out.U32(opening.parties);
  out.String(opening.shown);
  return out.Take();
}

Bytes SignOpening(const Opening& opening, const SigningKey& referee) {
  ASSAY_CHECK(opening.referee == referee.verify_key().point());
  Bytes bytes = Encode(opening);
  const Bytes message = MessageOf(kTag, bytes);
  return WithSignature(std::move(bytes), message, referee);
}

Result<SignedOpening> DecodeOpening(ByteSpan message) {
  ASSAY_ASSIGN(const Split split, TakeSignature(message, kMaxOpeningBytes, "opening"));
  ASSAY_ASSIGN(Opening opening, ReadOpening(split.bytes));
  return SignedOpening{std::move(opening), Bytes(split.bytes.begin(), split.bytes.end()), split.signature};
}

bool IsOpenedBy(ByteSpan opening, const Signature& signature, const KeyPoint& referee) {
  return IsSigned(MessageOf(kTag, opening), signature, referee);
}

Bytes SignQuestion(ByteSpan question, const Digest& receipt, const SigningKey& referee) {
  return WithSignature(Bytes(question.begin(), question.end()), AskedMessageOf(question, receipt), referee);
}

Result<SignedQuestion> SplitQuestion(ByteSpan message) {
  ASSAY_ASSIGN(const Split split, TakeSignature(message, kMaxQuestionBytes, "question"));
  return SignedQuestion{Bytes(split.bytes.begin(), split.bytes.end()), split.signature};
}

bool IsAskedBy(ByteSpan question, const Digest& receipt, const Signature& signature, const KeyPoint& referee) {
  return IsSigned(AskedMessageOf(question, receipt), signature, referee);
}

}  // namespace assay::dispute
