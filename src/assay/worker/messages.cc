#include "assay/worker/messages.h"

#include <algorithm>
#include <cmath>

#include "assay/base/base64.h"
#include "assay/life/fields.h"
#include "assay/sign/key.h"

namespace assay::worker {
namespace {

using life::Json;

constexpr std::size_t kMaxFiles = 65536;
constexpr std::size_t kMaxQuestions = 1024;

Json FilesJson(const std::vector<life::OrderFile>& files) {
  Json list = Json::array();
  for (const life::OrderFile& file : files) {
    list.push_back({{"name", file.name}, {"sha256", file.sha256.hex()}, {"bytes", file.bytes}});
  }
  return list;
}

// The items of a list, or an error where it is none or too long.
Result<Json> ListOf(const Json& object, const char* key, std::size_t most) {
  const auto found = object.find(key);
  if (found == object.end() || !found->is_array()) return Err("reply: {}: expected a list", key);
  if (found->size() > most) return Err("reply: {}: has {} items, expected at most {}", key, found->size(), most);
  return *found;
}

Result<std::vector<life::OrderFile>> ParseFiles(const Json& object) {
  ASSAY_ASSIGN(const Json list, ListOf(object, "files", kMaxFiles));
  std::vector<life::OrderFile> files;
  for (const Json& item : list) {
    if (!item.is_object()) return Err("reply: files: expected objects");
    life::OrderFile file{.name = life::TextOf(item, "name"), .bytes = life::CountOf(item, "bytes")};
    const auto sha256 = Digest::FromHex(life::TextOf(item, "sha256"));
    if (!IsFileName(file.name) || !sha256 || file.bytes < 0) return Err("reply: files: expected a name, a hash and a size");
    file.sha256 = *sha256;
    files.push_back(std::move(file));
  }
  return files;
}

Result<std::vector<Digest>> ParseProof(const Json& object) {
  constexpr std::size_t kMost = 128;
  ASSAY_ASSIGN(const Json list, ListOf(object, "proof", kMost));
  std::vector<Digest> proof;
  for (const Json& item : list) {
    ASSAY_ASSIGN(const Digest hash, Digest::FromHex(item.is_string() ? item.get_ref<const std::string&>() : ""));
    proof.push_back(hash);
  }
  return proof;
}

Result<LeaseName> ParseLeaseName(const Json& object) {
  LeaseName name{.order = life::TextOf(object, "order"), .lease = life::CountOf(object, "lease")};
  if (!life::IsOrderId(name.order) || name.lease < 1)
    return Err("reply: expected the id of an order and the number of a lease");
  return name;
}

Result<GivenLease> ParseLease(const Json& object) {
  GivenLease lease{.nonce = life::TextOf(object, "nonce")};
  ASSAY_ASSIGN(lease.name, ParseLeaseName(object));
  const std::string role = life::TextOf(object, "role");
  if (role != life::Name(life::Role::kTrain) && role != life::Name(life::Role::kAudit)) {
    return Err("reply: a lease to {}; expected train or audit", role);
  }
  lease.role = role == life::Name(life::Role::kAudit) ? life::Role::kAudit : life::Role::kTrain;
  lease.of = std::max<std::int64_t>(0, life::CountOf(object, "of"));
  lease.ends_in_ms = std::max<std::int64_t>(0, life::CountOf(object, "ends_in_ms"));
  if (lease.role == life::Role::kAudit && !Digest::FromHex(lease.nonce))
    return Err("reply: an audit's nonce is not 64 hex digits");
  return lease;
}

Result<Question> ParseQuestion(const Json& object) {
  Question question{
      .id = life::TextOf(object, "id"), .order = life::TextOf(object, "order"), .kind = life::TextOf(object, "kind")};
  if (!IsQuestionId(question.id) || !life::IsOrderId(question.order))
    return Err("reply: expected the ids of a question and its order");
  ASSAY_ASSIGN(question.body, FromBase64(life::TextOf(object, "body")));
  return question;
}

// Watts and joules, as people say them.
Json GpuJson(const monitor::GpuFigures& gpu, const monitor::GpuIdentity& identity) {
  constexpr double kMilli = 1e-3;
  Json json = {{"name", identity.name}, {"index", identity.index}};
  if (!identity.uuid.empty()) json["uuid"] = identity.uuid;
  const auto add = [&](const char* key, std::int64_t value, double unit) {
    if (value != monitor::kNotTold) json[key] = static_cast<double>(value) * unit;
  };
  add("total", identity.memory_total, 1);
  add("util", gpu.utilisation, 1);
  add("memory", gpu.memory, 1);
  add("power", gpu.power_mw, kMilli);
  add("energy", gpu.energy_mj, kMilli);
  add("temperature", gpu.temperature, 1);
  add("clock", gpu.clock_mhz, 1);
  return json;
}

Result<Json> Object(std::string_view text) {
  Json json = life::ParseObject(text);
  if (!json.is_object()) return Err("reply: expected a JSON object");
  return json;
}

}  // namespace

std::string_view Name(NoAnswer::Kind kind) {
  switch (kind) {
    case NoAnswer::Kind::kLater: return "later";
    case NoAnswer::Kind::kNotOpen: return "not_open";
    case NoAnswer::Kind::kDenied: return "denied";
    case NoAnswer::Kind::kNever: break;
  }
  return "never";
}

bool IsQuestionId(std::string_view id) {
  constexpr std::size_t kMost = 64;
  const auto fits = [](unsigned char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '-' || c == '_';
  };
  return !id.empty() && id.size() <= kMost && std::ranges::all_of(id, fits);
}

std::string ToJson(const Hardware& hardware, const std::string& recipient) {
  return life::Compact({{"hardware",
                         {{"device", hardware.device},
                          {"name", hardware.name},
                          {"kernels", hardware.kernels},
                          {"cores", hardware.cores},
                          {"threads", hardware.threads},
                          {"memory", hardware.memory},
                          {"disk", hardware.disk},
                          {"matmul_gflops", hardware.matmul_gflops},
                          {"hash_gbps", hardware.hash_gbps},
                          {"version", hardware.version}}},
                        {"recipient", recipient}});
}

std::string ToJson(const WorkRequest& request) {
  return life::Compact({{"wait_ms", request.wait_ms}, {"holding", request.holding}, {"new", request.fresh}});
}

std::string ToJson(const Commitment& commitment) {
  return life::Compact({{"note", commitment.note}, {"proof", life::Hex(commitment.proof)}});
}

std::string ToJson(const Delivery& delivery) {
  return life::Compact({{"receipt", delivery.receipt},
                        {"proof", life::Hex(delivery.proof)},
                        {"model", delivery.model},
                        {"files", FilesJson(delivery.files)}});
}

std::string ToJson(const std::vector<Sample>& samples) {
  Json list = Json::array();
  for (const Sample& sample : samples) {
    if (sample.sealed) {
      list.push_back({{"at", sample.at_ms}, {"phase", sample.phase}, {"step", sample.step}, {"steps", sample.steps}});
      continue;
    }
    Json json = {{"at", sample.at_ms},
                 {"phase", sample.phase},
                 {"step", sample.step},
                 {"steps", sample.steps},
                 {"loss", std::isfinite(sample.loss) ? Json(sample.loss) : Json(nullptr)},
                 {"rate", sample.rate},
                 {"unit", sample.unit},
                 {"cpu", sample.cpu},
                 {"memory", sample.memory}};
    if (sample.gpu) json["gpu"] = GpuJson(*sample.gpu, sample.gpu_identity);
    if (sample.index >= 0) {
      json["index"] = sample.index;
      json["chain"] = sample.chain;
    }
    list.push_back(std::move(json));
  }
  return life::Compact({{"samples", std::move(list)}});
}

std::string ReportJson(const std::string& report) { return life::Compact({{"report", report}}); }

std::string GiveBackJson(life::Ending why, const std::string& words) {
  return life::Compact({{"why", life::Name(why)}, {"words", words}});
}

Result<CoordinatorInfo> ParseCoordinator(std::string_view text) {
  ASSAY_ASSIGN(const Json json, Object(text));
  CoordinatorInfo info{.key = life::TextOf(json, "key"), .lease_ms = life::CountOf(json, "lease_ms")};
  ASSAY_TRY(VerifyKey::Parse(info.key));
  if (info.lease_ms < 1) return Err("reply: lease_ms: expected how long a lease lasts");
  return info;
}

Result<WorkReply> ParseWorkReply(std::string_view text) {
  ASSAY_ASSIGN(const Json json, Object(text));
  WorkReply reply;
  if (const auto lease = json.find("lease"); lease != json.end() && lease->is_object()) {
    ASSAY_ASSIGN(reply.lease, ParseLease(*lease));
  } else if (lease == json.end() || !lease->is_null()) {
    return Err("reply: lease: expected an object or null");
  }
  ASSAY_ASSIGN(const Json questions, ListOf(json, "questions", kMaxQuestions));
  for (const Json& item : questions) {
    ASSAY_ASSIGN(Question question, ParseQuestion(item));
    reply.questions.push_back(std::move(question));
  }
  ASSAY_ASSIGN(const Json cancelled, ListOf(json, "cancelled", kMaxQuestions));
  for (const Json& item : cancelled) {
    ASSAY_ASSIGN(LeaseName name, ParseLeaseName(item));
    reply.cancelled.push_back(std::move(name));
  }
  ASSAY_TRY(ListOf(json, "decided", kMaxFiles));
  reply.decided = life::TextsOf(json, "decided");
  if (!std::ranges::all_of(reply.decided, life::IsOrderId)) return Err("reply: decided: expected ids of orders");
  return reply;
}

Result<LeasePapers> ParsePapers(std::string_view text) {
  ASSAY_ASSIGN(const Json json, Object(text));
  LeasePapers papers{.order = life::TextOf(json, "order")};
  papers.committed = static_cast<std::uint64_t>(std::max<std::int64_t>(0, life::CountOf(json, "committed")));
  if (const auto run = json.find("run"); run != json.end() && run->is_object()) {
    papers.run = RunUnderAudit{.receipt = life::TextOf(*run, "receipt")};
    ASSAY_ASSIGN(papers.run->files, ParseFiles(*run));
  }
  return papers;
}

Result<Commitment> ParseCommitment(std::string_view text) {
  ASSAY_ASSIGN(const Json json, Object(text));
  Commitment commitment{.note = life::TextOf(json, "note")};
  ASSAY_ASSIGN(commitment.proof, ParseProof(json));
  return commitment;
}

Result<Delivery> ParseDelivery(std::string_view text) {
  ASSAY_ASSIGN(const Json json, Object(text));
  Delivery delivery{.receipt = life::TextOf(json, "receipt"), .model = life::CountOf(json, "model")};
  ASSAY_ASSIGN(delivery.proof, ParseProof(json));
  ASSAY_ASSIGN(delivery.files, ParseFiles(json));
  return delivery;
}

}  // namespace assay::worker
