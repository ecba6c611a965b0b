// What is signed and what signs: keys, checkpoints, envelopes, and the bundles of a log's entries.
#include "assay/base/base64.h"
#include "assay/base/check.h"
#include "assay/merkle/tiles.h"
#include "assay/sign/dsse.h"
#include "assay/sign/key.h"
#include "assay/sign/note.h"
#include "fuzz/targets.h"

namespace assay::fuzz {
namespace {

constexpr std::string_view kType = "application/vnd.in-toto+json";

const SigningKey& Signer() {
  static const SigningKey kKey("fuzz", HashBytes(AsBytes("seed")).bytes);
  return kKey;
}

template <class T>
void CheckMessage(const Result<T>& result) {
  if (!result) ASSAY_CHECK(!result.error().message.empty() && result.error().message.find('\n') == std::string::npos);
}

// A note with this text, well signed, whatever the text is. A checkpoint that is signed properly has its signature line at the
// same place.
std::string SignedNote(std::string_view text) {
  ByteWriter out;
  for (int shift = 24; shift >= 0; shift -= 8) out.U8(static_cast<std::uint8_t>(Signer().verify_key().hash() >> shift));
  out.Raw(Signer().Sign(AsBytes(text)));
  return fmt::format("{}\n\xe2\x80\x94 fuzz {}\n", text, Base64(out.bytes()));
}

}  // namespace

void RunKey(ByteSpan input) {
  const auto verify = VerifyKey::Parse(AsText(input));
  CheckMessage(verify);
  if (verify) ASSAY_CHECK(verify->ToString() == AsText(input));
  const auto sign = SigningKey::Parse(AsText(input));
  CheckMessage(sign);
  if (!sign) return;
  ASSAY_CHECK(sign->ToString() == AsText(input));
  ASSAY_CHECK(sign->verify_key().Verify(input, sign->Sign(input)));
}

// The input as a note, and as the text of a note that the fuzzer need not sign itself.
void RunCheckpoint(ByteSpan input) {
  const auto note = OpenCheckpoint(AsText(input), Signer().verify_key(), "note");
  CheckMessage(note);
  if (note) ASSAY_CHECK(AsText(input).starts_with(CheckpointText(*note) + "\n"));
  const std::string signed_note = SignedNote(AsText(input));
  const auto opened = OpenCheckpoint(signed_note, Signer().verify_key(), "note");
  CheckMessage(opened);
  if (opened) ASSAY_CHECK(SignCheckpoint(*opened, Signer()) == signed_note && CheckpointText(*opened) == AsText(input));
}

// The input as an envelope, and as a payload.
void RunEnvelope(ByteSpan input) {
  const auto payload = OpenEnvelope(AsText(input), kType, Signer().verify_key(), "envelope");
  CheckMessage(payload);
  if (payload) ASSAY_CHECK(SignEnvelope(kType, *payload, Signer()) == AsText(input));
  const auto again = OpenEnvelope(SignEnvelope(kType, AsText(input), Signer()), kType, Signer().verify_key(), "envelope");
  ASSAY_CHECK(again.has_value() && *again == AsText(input));
}

// A count, then the bundle.
void RunBundle(ByteSpan input) {
  if (input.empty()) return;
  const std::uint64_t count = input[0] == 0xff ? ~std::uint64_t{0} : input[0];
  const auto entries = ParseBundle(input.subspan(1), count, "bundle");
  CheckMessage(entries);
  if (!entries) return;
  const Bytes again = EncodeBundle(*entries);
  ASSAY_CHECK(entries->size() == count && std::equal(again.begin(), again.end(), input.begin() + 1, input.end()));
}

std::vector<Bytes> KeySeeds() {
  return {ToBytes(Signer().ToString()), ToBytes(Signer().verify_key().ToString()),
          ToBytes("example.com/foo+530d903a+AekyeRrm56hApGFkyQR4ZCbV54Id2LKaANYcrnKv3U2k")};
}

std::vector<Bytes> CheckpointSeeds() {
  const Checkpoint checkpoint{.origin = "fuzz/log", .size = 12345, .root = HashBytes(AsBytes("root"))};
  const Checkpoint empty{.origin = "o", .size = 0, .root = HashBytes({})};
  const std::string note = SignCheckpoint(checkpoint, Signer());
  return {ToBytes(note), ToBytes(note + "\xe2\x80\x94 witness AAAAAAA=\n"), ToBytes(CheckpointText(checkpoint)),
          ToBytes(CheckpointText(empty))};
}

std::vector<Bytes> EnvelopeSeeds() {
  return {ToBytes(SignEnvelope(kType, R"({"_type":"https://in-toto.io/Statement/v1"})", Signer())),
          ToBytes(SignEnvelope(kType, "", Signer())), ToBytes(SignEnvelope("text/plain", "x", Signer()))};
}

std::vector<Bytes> BundleSeeds() {
  const std::vector<Bytes> entries = {{1, 2, 3}, {}, Bytes(300, 7)};
  Bytes seed = EncodeBundle(entries);
  seed.insert(seed.begin(), 3);
  return {std::move(seed), {0}, {2, 0, 0, 0, 1, 9}, {0xff, 0, 0}};
}

}  // namespace assay::fuzz
