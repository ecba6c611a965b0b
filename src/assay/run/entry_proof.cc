#include "assay/run/entry_proof.h"

#include <algorithm>
#include <array>
#include <limits>
#include <set>

#include <nlohmann/json.hpp>

#include "assay/base/check.h"
#include "assay/base/quote.h"

namespace assay {
namespace {

using nlohmann::json;

constexpr std::array<std::string_view, 8> kKeys = {"step", "index", "size", "entry", "proof", "root", "checkpoint", "signer"};

// Reads the fields of one JSON object.
class Fields {
 public:
  Fields(const json& object, std::string_view what) : object_(object), what_(what) {}
  bool Has(const char* key) const { return object_.contains(key); }
  Result<std::uint64_t> Number(const char* key) const {
    const json* value = Find(key);
    if (value == nullptr || !value->is_number_unsigned()) return Err("{}: {}: expected a number", what_, key);
    return value->get<std::uint64_t>();
  }
  Result<std::string> Text(const char* key) const {
    const json* value = Find(key);
    if (value == nullptr || !value->is_string()) return Err("{}: {}: expected text", what_, key);
    return value->get<std::string>();
  }
  Result<Digest> Hash(const char* key) const {
    ASSAY_ASSIGN(const std::string text, Text(key));
    return Parsed(key, text);
  }
  Result<Hashes> List(const char* key) const {
    const json* value = Find(key);
    if (value == nullptr || !value->is_array()) return Err("{}: {}: expected a list of hashes", what_, key);
    Hashes hashes;
    for (const json& item : *value) {
      if (!item.is_string()) return Err("{}: {}: expected a list of hashes", what_, key);
      ASSAY_ASSIGN(const Digest hash, Parsed(key, item.get<std::string>()));
      hashes.push_back(hash);
    }
    return hashes;
  }

 private:
  Result<Digest> Parsed(const char* key, const std::string& text) const {
    auto digest = Digest::FromHex(text);
    if (!digest) return Err("{}: {}: {}", what_, key, digest.error().message);
    return digest;
  }
  const json* Find(const char* key) const { return object_.contains(key) ? &object_.at(key) : nullptr; }
  const json& object_;
  std::string_view what_;
};

}  // namespace

EntryProof ProveEntry(const RunLog& log, std::size_t index, std::string note, const VerifyKey& signer) {
  ASSAY_CHECK(index < log.entries().size());
  Hashes hashes;
  for (const LogEntry& entry : log.entries()) hashes.push_back(HashOf(entry));
  return {.step = log.entries()[index].step,
          .index = index,
          .size = log.checkpoint().size,
          .entry = Encode(log.entries()[index]),
          .hashes = ProveInclusion(hashes, index),
          .root = log.checkpoint().root,
          .checkpoint = std::move(note),
          .signer = signer};
}

std::string ToJson(const EntryProof& proof) {
  std::vector<std::string> hashes;
  for (const Digest& hash : proof.hashes) hashes.push_back(hash.hex());
  nlohmann::ordered_json out = {{"step", proof.step},
                                {"index", proof.index},
                                {"size", proof.size},
                                {"entry", Hex(proof.entry)},
                                {"proof", hashes},
                                {"root", proof.root.hex()},
                                {"checkpoint", proof.checkpoint}};
  if (proof.signer) out["signer"] = proof.signer->ToString();
  return out.dump(-1, ' ', false, json::error_handler_t::replace);
}

Result<EntryProof> ParseEntryProof(std::string_view text, std::string_view what) {
  std::set<std::string> keys;
  std::optional<std::string> odd;  // the first key that is not one of a proof, or stands there once more
  const auto watch = [&](int, json::parse_event_t event, json& parsed) {
    if (event != json::parse_event_t::key || odd) return true;
    const auto key = parsed.get<std::string>();
    if (std::ranges::find(kKeys, key) == kKeys.end() || !keys.insert(key).second) odd = key;
    return true;
  };
  const json object = json::parse(text, watch, false);
  if (!object.is_object()) return Err("{}: expected one JSON object, as assay log --prove STEP --json prints it", what);
  if (odd && keys.contains(*odd)) return Err("{}: {} stands there twice", what, Quote(*odd));
  if (odd) return Err("{}: a proof has no {}", what, Quote(*odd));
  const Fields in(object, what);
  EntryProof proof;
  ASSAY_ASSIGN(const std::uint64_t step, in.Number("step"));
  if (step > std::numeric_limits<std::uint32_t>::max())
    return Err("{}: step: expected at most {}", what, std::numeric_limits<std::uint32_t>::max());
  proof.step = static_cast<std::int64_t>(step);
  ASSAY_ASSIGN(proof.index, in.Number("index"));
  ASSAY_ASSIGN(proof.size, in.Number("size"));
  ASSAY_ASSIGN(const std::string entry, in.Text("entry"));
  auto bytes = FromHex(entry);
  if (!bytes) return Err("{}: entry: {}", what, bytes.error().message);
  proof.entry = std::move(*bytes);
  ASSAY_ASSIGN(proof.hashes, in.List("proof"));
  ASSAY_ASSIGN(proof.root, in.Hash("root"));
  ASSAY_ASSIGN(proof.checkpoint, in.Text("checkpoint"));
  if (in.Has("signer")) {
    ASSAY_ASSIGN(const std::string signer, in.Text("signer"));
    auto key = VerifyKey::Parse(signer);
    if (!key) return Err("{}: signer: {}", what, key.error().message);
    proof.signer = std::move(*key);
  }
  return proof;
}

Result<ProvenEntry> OpenEntryProof(const EntryProof& proof, const VerifyKey& key, std::string_view what) {
  ASSAY_ASSIGN(Checkpoint checkpoint, OpenCheckpoint(proof.checkpoint, key, what));
  if (checkpoint.size != proof.size || checkpoint.root != proof.root)
    return Err("{}: its checkpoint says another size or root", what);
  ASSAY_ASSIGN(const LogEntry entry, DecodeLogEntry(proof.entry, what));
  if (entry.step != proof.step) return Err("{}: its entry is of step {}, not of step {}", what, entry.step, proof.step);
  if (const Status included = VerifyInclusion(HashOf(entry), proof.index, proof.size, proof.hashes, proof.root); !included) {
    return Err("{}: the path from the entry does not lead to the root: {}", what, included.error().message);
  }
  return ProvenEntry{.entry = entry, .checkpoint = std::move(checkpoint)};
}

}  // namespace assay
