#include "assay/run/receipt.h"

#include <algorithm>
#include <charconv>
#include <tuple>

#include <nlohmann/json.hpp>

#include "assay/base/base64.h"
#include "assay/base/quote.h"
#include "assay/sign/dsse.h"

namespace assay {
namespace {

using nlohmann::json;

constexpr std::string_view kPayloadType = "application/vnd.in-toto+json";
constexpr std::string_view kStatementType = "https://in-toto.io/Statement/v1";
constexpr std::string_view kPredicateType = "urn:assay:receipt:2";
constexpr std::int64_t kMaxCount = 4'294'967'295;    // of steps, as in a job
constexpr std::size_t kMaxOrigin = 64 + 1 + 2 * 32;  // a key's name, a slash and a job's id

// So that every reader of JSON reads the same: no character that could be escaped, and no number that it could round.
bool IsOrigin(std::string_view text) {
  return !text.empty() && text.size() <= kMaxOrigin &&
         std::ranges::all_of(text, [](const char& c) { return IsKeyName({&c, 1}); });
}
bool IsCount(std::int64_t count, std::int64_t least) { return count >= least && count <= kMaxCount; }

// Reads the fields of a parsed statement. A field that is missing or of another kind reads as a default, so that the text written from what was
// read differs from the text received: one comparison at the end catches every deviation.
class Reader {
 public:
  explicit Reader(const json& object) : object_(object) {}
  std::string Text(const char* pointer) const {
    const json* found = Find(pointer);
    return found != nullptr && found->is_string() ? found->get<std::string>() : std::string();
  }
  Digest Hash(const char* pointer) const { return Digest::FromHex(Text(pointer)).value_or(Digest{}); }
  bool IsObject(const char* pointer) const {
    const json* found = Find(pointer);
    return found != nullptr && found->is_object();
  }
  std::int64_t Count(const char* pointer) const {
    const json* found = Find(pointer);
    return found != nullptr && found->is_number_unsigned() ? static_cast<std::int64_t>(found->get<std::uint64_t>()) : -1;
  }

 private:
  const json* Find(const char* pointer) const {
    const json::json_pointer at(pointer);
    return object_.contains(at) ? &object_.at(at) : nullptr;
  }
  const json& object_;
};

std::uint32_t ParseBits(const std::string& text) {
  std::uint32_t bits = 0;
  std::from_chars(text.data(), text.data() + text.size(), bits, 16);
  return bits;
}

std::string ToJson(const std::optional<Follows>& follows) {
  if (!follows) return "null";
  return fmt::format(R"({{"signer":"{}","log":"{}"}})", follows->signer, follows->log_root.hex());
}

bool SameKey(const std::string& a, const std::string& b) {
  const auto one = VerifyKey::Parse(a), other = VerifyKey::Parse(b);
  return one && other && one->point() == other->point();
}

}  // namespace

bool SamePromise(const Receipt& a, const Receipt& b) {
  const auto promised = [](const Receipt& r) {
    return std::tie(r.job, r.log.root, r.initial_state_root, r.final_state_root, r.loss_bits, r.weights);
  };
  return promised(a) == promised(b);
}

bool Contradict(const Receipt& a, const Receipt& b, bool exact_job) {
  return exact_job && a.job == b.job && SameKey(a.signer, b.signer) && !SamePromise(a, b);
}

std::string DifferenceOf(const Receipt& said, const Receipt& run) {
  const auto differ = [](std::string_view field, const auto& is, const auto& should) {
    return fmt::format("says {} {}, the run has {}", field, is, should);
  };
  const std::tuple<std::string_view, Digest, Digest> digests[] = {
      {"model.safetensors", said.model, run.model},
      {"job", said.job, run.job},
      {"trajectory", said.trajectory, run.trajectory},
      {"program", said.program, run.program},
      {"data", said.data, run.data},
      {"log.root", said.log.root, run.log.root},
      {"initial_state_root", said.initial_state_root, run.initial_state_root},
      {"final_state_root", said.final_state_root, run.final_state_root},
      {"weights", said.weights, run.weights}};
  for (const auto& [field, is, should] : digests) {
    if (is != should) return differ(field, is.hex(), should.hex());
  }
  if (said.steps != run.steps) return differ("steps", said.steps, run.steps);
  if (said.commit_every != run.commit_every) return differ("commit_every", said.commit_every, run.commit_every);
  if (said.snapshot_every != run.snapshot_every) return differ("snapshot_every", said.snapshot_every, run.snapshot_every);
  if (said.log.size != run.log.size) return differ("log.size", said.log.size, run.log.size);
  if (said.log.origin != run.log.origin) return differ("log.origin", said.log.origin, run.log.origin);
  if (said.signer != run.signer) return differ("signer", said.signer, run.signer);
  if (said.follows != run.follows) return differ("follows", ToJson(said.follows), ToJson(run.follows));
  return said == run ? "" : "says another loss than the run's log";
}

std::string ToStatement(const Receipt& receipt) {
  // Every string here is hex digits or of a key name's characters, so nothing needs escaping.
  return fmt::format(
      R"({{"_type":"{}","subject":[{{"name":"model.safetensors","digest":{{"sha256":"{}"}}}}],"predicateType":"{}",)"
      R"("predicate":{{"job":"{}","trajectory":"{}","program":"{}","data":"{}","steps":{},"commit_every":{},"snapshot_every":{},)"
      R"("log":{{"origin":"{}","size":{},"root":"{}"}},"initial_state_root":"{}","final_state_root":"{}","loss_bits":"{:08x}",)"
      R"("weights":"{}","follows":{},"signer":"{}"}}}})",
      kStatementType, receipt.model.hex(), kPredicateType, receipt.job.hex(), receipt.trajectory.hex(), receipt.program.hex(),
      receipt.data.hex(), receipt.steps, receipt.commit_every, receipt.snapshot_every, receipt.log.origin, receipt.log.size,
      receipt.log.root.hex(), receipt.initial_state_root.hex(), receipt.final_state_root.hex(), receipt.loss_bits,
      receipt.weights.hex(), ToJson(receipt.follows), receipt.signer);
}

Result<Receipt> ParseStatement(std::string_view statement, std::string_view what) {
  const json parsed = json::parse(statement, nullptr, false);
  if (!parsed.is_object()) return Err("{}: expected a JSON object, the statement of a receipt", what);
  const Reader in(parsed);
  if (in.Text("/predicateType") != kPredicateType) {
    return Err("{}: predicateType is {}, expected {}", what, Quote(in.Text("/predicateType")), kPredicateType);
  }
  Receipt receipt{.model = in.Hash("/subject/0/digest/sha256"),
                  .job = in.Hash("/predicate/job"),
                  .trajectory = in.Hash("/predicate/trajectory"),
                  .program = in.Hash("/predicate/program"),
                  .data = in.Hash("/predicate/data"),
                  .steps = in.Count("/predicate/steps"),
                  .commit_every = in.Count("/predicate/commit_every"),
                  .snapshot_every = in.Count("/predicate/snapshot_every"),
                  .log = {.origin = in.Text("/predicate/log/origin"),
                          .size = static_cast<std::uint64_t>(in.Count("/predicate/log/size")),
                          .root = in.Hash("/predicate/log/root")},
                  .initial_state_root = in.Hash("/predicate/initial_state_root"),
                  .final_state_root = in.Hash("/predicate/final_state_root"),
                  .loss_bits = ParseBits(in.Text("/predicate/loss_bits")),
                  .weights = in.Hash("/predicate/weights"),
                  .signer = in.Text("/predicate/signer")};
  if (in.IsObject("/predicate/follows")) {
    receipt.follows = {.signer = in.Text("/predicate/follows/signer"), .log_root = in.Hash("/predicate/follows/log")};
    if (!VerifyKey::Parse(receipt.follows->signer))
      return Err("{}: follows.signer: expected a public key (NAME+HASH+DATA)", what);
  }
  const bool counts = IsCount(receipt.steps, 1) && IsCount(receipt.commit_every, 1) && IsCount(receipt.snapshot_every, 0);
  if (!counts || !IsOrigin(receipt.log.origin) || ToStatement(receipt) != statement) {
    return Err("{}: is not in the form of a receipt's statement (docs/formats/receipt.md)", what);
  }
  return receipt;
}

std::string SignReceipt(const Receipt& receipt, const SigningKey& key) {
  return SignEnvelope(kPayloadType, ToStatement(receipt), key);
}

Result<Receipt> OpenReceipt(std::string_view file, const VerifyKey& key, std::string_view what) {
  ASSAY_ASSIGN(const std::string statement, OpenEnvelope(file, kPayloadType, key, what));
  ASSAY_ASSIGN(Receipt receipt, ParseStatement(statement, what));
  if (receipt.signer != key.ToString()) return Err("{}: names another signer than the key that signed it", what);
  return receipt;
}

}  // namespace assay
