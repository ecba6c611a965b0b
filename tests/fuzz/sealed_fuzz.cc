// Sealed files, the keys they are sealed to, and the announcements of these keys.
#include "assay/base/base64.h"
#include "assay/base/check.h"
#include "assay/merkle/sha256.h"
#include "assay/seal/announcement.h"
#include "assay/seal/file_key.h"
#include "assay/seal/seal.h"
#include "assay/sign/dsse.h"
#include "fuzz/targets.h"

namespace assay::fuzz {
namespace {

constexpr std::string_view kAnnouncementType = "application/vnd.assay.recipient+json";

// The same bytes each time: a finding comes again.
void Fixed(std::span<std::uint8_t> out) {
  for (std::size_t i = 0; i < out.size(); ++i) out[i] = static_cast<std::uint8_t>(i + 1);
}

std::vector<Identity> Keys() {
  std::vector<Identity> keys;
  keys.push_back(*Identity::Generate(Fixed));
  return keys;
}

const SigningKey& Signer() {
  static const SigningKey kKey("fuzz", HashBytes(AsBytes("seed")).bytes);
  return kKey;
}

ByteSink Into(Bytes& out) {
  return [&out](ByteSpan bytes) -> Status {
    out.insert(out.end(), bytes.begin(), bytes.end());
    return {};
  };
}

Bytes SealedBytes(ByteSpan plain) {
  const std::vector<Recipient> to = {Keys()[0].recipient()};
  Bytes out;
  auto writer = SealWriter::Start(to, Into(out), Fixed);
  ASSAY_CHECK(writer && writer->Write(plain) && writer->Finish());
  return out;
}

std::string Armor(ByteSpan bytes) {
  const std::string digits = Base64(bytes);
  std::string out = "-----BEGIN AGE ENCRYPTED FILE-----\n";
  for (std::size_t at = 0; at < digits.size(); at += 64) out.append(digits, at, 64).append(1, '\n');
  return out + "-----END AGE ENCRYPTED FILE-----\n";
}

template <class T>
void CheckMessage(const Result<T>& result) {
  if (!result) ASSAY_CHECK(!result.error().message.empty() && result.error().message.find('\n') == std::string::npos);
}

Result<Bytes> OpenBytes(ByteSpan sealed, std::size_t step) {
  Bytes out;
  ASSAY_TRY(Unseal(SpanSource(sealed, step), Keys(), Into(out), "file"));
  return out;
}

// A header that may hold anything, with a stanza of ours behind the others and a MAC that fits: it opens, unless the rules
// about stanzas forbid it.
void OpenBeside(std::vector<seal::Stanza> stanzas) {
  seal::FileKey key;
  Fixed(key.bytes());
  stanzas.push_back(*seal::WrapFileKey(key, Keys()[0].recipient(), Fixed));
  const std::string text = seal::HeaderText(stanzas);
  std::string file = seal::FinishHeader(text, seal::HeaderMac(key, text));
  if (file.size() > seal::kMaxHeader) return;
  const Bytes whole = SealedBytes(AsBytes("beside"));  // under the same key
  file.append(whole.end() - 16 - 6 - seal::kTagSize, whole.end());
  const auto opened = OpenBytes(AsBytes(file), file.size());
  CheckMessage(opened);
  ASSAY_CHECK(opened ? *opened == ToBytes("beside") : opened.error().message.starts_with("file: header: "));
}

}  // namespace

// The input as a file, as a header, and as what is sealed.
void RunSealed(ByteSpan input) {
  if (!seal::CanSeal()) return;
  const auto opened = OpenBytes(input, input.size() + 1), in_pieces = OpenBytes(input, 3);
  CheckMessage(opened);
  ASSAY_CHECK(opened.has_value() == in_pieces.has_value());
  ASSAY_CHECK(opened ? *opened == *in_pieces : opened.error().message == in_pieces.error().message);
  seal::BufferedSource source(SpanSource(input));
  const auto text = seal::ReadHeader(source, "file");
  CheckMessage(text);
  if (text) {
    const auto header = seal::ParseHeader(*text, "file");
    CheckMessage(header);
    if (header) {
      ASSAY_CHECK(seal::FinishHeader(seal::HeaderText(header->stanzas), header->mac) == *text);
      OpenBeside(header->stanzas);
    }
  }
  const auto back = OpenBytes(SealedBytes(input), 1000);
  ASSAY_CHECK(back && std::equal(back->begin(), back->end(), input.begin(), input.end()));
}

// The input as a key, as an announcement, and as what somebody announces.
void RunSealingKey(ByteSpan input) {
  const auto recipient = Recipient::Parse(AsText(input));
  CheckMessage(recipient);
  if (recipient) ASSAY_CHECK(recipient->ToString() == AsText(input));
  const auto identity = Identity::Parse(AsText(input));
  CheckMessage(identity);
  if (identity) ASSAY_CHECK(identity->ToString() == AsText(input));
  for (const std::string& envelope : {std::string(AsText(input)), SignEnvelope(kAnnouncementType, AsText(input), Signer())}) {
    const auto announcement = OpenAnnouncement(envelope, Signer().verify_key(), "file");
    CheckMessage(announcement);
    if (announcement) ASSAY_CHECK(SignAnnouncement(*announcement, Signer()) == envelope);
  }
}

std::vector<Bytes> SealedSeeds() {
  if (!seal::CanSeal()) return {{}};
  const Bytes small = SealedBytes(AsBytes("a small file")), empty = SealedBytes({}), large = SealedBytes(Bytes(70000, 7));
  const std::string mac = " AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA\n";
  const auto header = [&](const std::vector<seal::Stanza>& stanzas) { return ToBytes(seal::HeaderText(stanzas) + mac); };
  return {small,
          empty,
          large,
          ToBytes(Armor(small)),
          ToBytes("\r\n " + Armor(Bytes(48, 1)) + "\n\n"),
          header({{{"grease", "~!"}, Bytes(100, 3)}, {{"X25519", seal::RawBase64(Bytes(32, 9))}, Bytes(32)}}),
          header({{{"X25519", seal::RawBase64(Bytes(32))}, Bytes(32)}}),
          header({{{"scrypt", "AAAAAAAAAAAAAAAAAAAAAA", "18"}, Bytes(32)}})};
}

std::vector<Bytes> SealingKeySeeds() {
  const Recipient recipient(seal::Point{1, 2, 3});
  const std::string announced =
      SignAnnouncement({.recipient = recipient, .purpose = SealPurpose::kWorker, .made = 1700000000}, Signer());
  return {ToBytes(recipient.ToString()), ToBytes("AGE-SECRET-KEY-1GFPYYSJZGFPYYSJZGFPYYSJZGFPYYSJZGFPYYSJZGFPYYSJZGFPQ4EGAEX"),
          ToBytes(announced), ToBytes(*OpenEnvelope(announced, kAnnouncementType, Signer().verify_key(), "seed"))};
}

}  // namespace assay::fuzz
