// Routes of a worker that holds a lease: signs of life, what it commits to, what it brings, and its answers in disputes.
#include <charconv>

#include "assay/coordinator/run_check.h"
#include "assay/coordinator/run_telemetry.h"
#include "assay/coordinator/work_office.h"
#include "assay/life/fields.h"
#include "assay/platform/posted_peer.h"

namespace assay::coordinator {
namespace {

using life::LeaseNumber;

constexpr std::size_t kMaxNote = 16 << 10;
constexpr std::size_t kMaxProof = 128;
constexpr std::size_t kMaxReceipt = 64 << 10;
constexpr std::size_t kMaxReport = 64 << 10;
constexpr std::size_t kMaxRunFiles = 65'536;
constexpr std::size_t kMaxResult = 16 << 20;
constexpr std::size_t kMaxSamples = 256;
constexpr std::size_t kMaxSample = 4 << 10;
constexpr std::size_t kMaxWords = 1000;

struct LeasePath {
  std::string order;
  LeaseNumber lease = 0;
};

Outcome<LeasePath> PathOf(const Call& call) {
  LeasePath path{.order = call.Path("order")};
  const std::string& text = call.Path("lease");
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), path.lease);
  if (error != std::errc() || end != text.data() + text.size() || path.lease < 1)
    return NotFound("there is no lease {} of this order", text.substr(0, 20));
  return path;
}

Outcome<std::vector<Digest>> ProofOf(const Call& call) {
  ASSAY_ASSIGN(const std::vector<std::string> texts, call.Texts("proof", kMaxProof));
  std::vector<Digest> proof;
  for (const std::string& text : texts) {
    const auto hash = Digest::FromHex(text);
    if (!hash) return BadRequest("proof: expected hashes of 64 lower-case hex digits");
    proof.push_back(*hash);
  }
  return proof;
}

Outcome<std::vector<life::OrderFile>> FilesOf(const Call& call) {
  const auto list = call.body.find("files");
  if (list == call.body.end() || !list->is_array() || list->size() > kMaxRunFiles)
    return BadRequest("files: expected a list of at most {}", kMaxRunFiles);
  std::vector<life::OrderFile> files;
  for (const Json& file : *list) {
    const auto hash = Digest::FromHex(life::TextOf(file, "sha256"));
    if (!file.is_object() || !hash || life::CountOf(file, "bytes") < 0)
      return BadRequest("files: expected name, sha256 and bytes of each");
    files.push_back({.name = life::TextOf(file, "name"), .sha256 = *hash, .bytes = life::CountOf(file, "bytes")});
  }
  return files;
}

HttpResponse Done() { return JsonText(200, "{}"); }

}  // namespace

Answer WorkOffice::Under(const Status& done, const std::string& worker, const std::string& order, LeaseNumber lease) {
  if (done) return Done();
  if (done.error().not_the_askers()) return tl::unexpected(FailureOf(done.error()));
  ASSAY_ASSIGN(const LeaseState state, OrFail(office_.book.StateOf(worker, order, lease)));
  if (state == LeaseState::kNone) return NotFound("there is no lease {} of order {}, or it is another worker's", lease, order);
  if (state == LeaseState::kEnded) return Fail(409, "ended", fmt::format("lease {} of order {} has ended", lease, order));
  return Refused("{}", done.error().message);
}

Answer WorkOffice::Renew(const Call& call) {
  ASSAY_ASSIGN(const std::string worker, WorkerOf(call));
  ASSAY_ASSIGN(const LeasePath path, PathOf(call));
  ASSAY_ASSIGN(const LeaseState state, OrFail(heartbeats_.Beat(worker, path.order, path.lease)));
  return Under(state == LeaseState::kOpen ? Status() : Err("ended"), worker, path.order, path.lease);
}

Answer WorkOffice::Commit(const Call& call) {
  ASSAY_ASSIGN(const std::string worker, WorkerOf(call));
  ASSAY_ASSIGN(const LeasePath path, PathOf(call));
  life::Committed committed{.lease = path.lease, .note = {}};
  ASSAY_ASSIGN(committed.note, call.Text("note", kMaxNote));
  ASSAY_ASSIGN(committed.proof, ProofOf(call));
  return Under(office_.book.Commit(worker, path.order, std::move(committed)), worker, path.order, path.lease);
}

Answer WorkOffice::Telemetry(const Call& call) {
  ASSAY_ASSIGN(const std::string worker, WorkerOf(call));
  ASSAY_ASSIGN(const LeasePath path, PathOf(call));
  const auto list = call.body.find("samples");
  if (list == call.body.end() || !list->is_array() || list->size() > kMaxSamples)
    return BadRequest("samples: expected a list of at most {}", kMaxSamples);
  std::vector<std::string> samples;
  for (const Json& sample : *list) {
    if (!sample.is_object()) return BadRequest("samples: expected objects");
    Json named = sample;
    named["lease"] = path.lease;
    samples.push_back(Compact(named));
    if (samples.back().size() > kMaxSample) return BadRequest("samples: expected at most {} bytes each", kMaxSample);
  }
  ASSAY_ASSIGN(const LeaseState state, OrFail(heartbeats_.Beat(worker, path.order, path.lease)));
  if (state == LeaseState::kOpen) {
    office_.hub.Publish(path.order, path.lease, samples);
    const std::vector<Json> told(list->begin(), list->end());
    gauges_.Take(worker, path.order, path.lease, told, office_.clock->SteadyMs());
    office_.histories.Take(path.order, path.lease, told);
  }
  return Under(state == LeaseState::kOpen ? Status() : Err("ended"), worker, path.order, path.lease);
}

// What the run kept of itself takes the place of what was told of it. Where that cannot be read, what was told stays.
void WorkOffice::AdoptTelemetry(const std::string& order, life::LeaseNumber lease, const std::vector<life::OrderFile>& files) {
  const auto written = office_.book.Look(order);
  const life::Lease* of = written ? (*written)->life.Find(lease) : nullptr;
  if (of == nullptr || !of->receipt || !(*written)->life.order().sealed.empty()) return;
  const std::lock_guard lock(adopting_);
  const auto points = PointsOfRun(office_.blobs, files, *of->receipt);
  Status kept = points ? Status() : tl::unexpected(points.error());
  if (points && !points->empty()) kept = office_.histories.Adopt(order, lease, *points);
  if (!kept) office_.log.Event("histories", kept.error().message);
}

Answer WorkOffice::TakeResult(const Call& call) {
  ASSAY_ASSIGN(const std::string worker, WorkerOf(call));
  ASSAY_ASSIGN(const LeasePath path, PathOf(call));
  life::Received received{.lease = path.lease, .receipt = {}};
  ASSAY_ASSIGN(received.receipt, call.Text("receipt", kMaxReceipt));
  ASSAY_ASSIGN(received.proof, ProofOf(call));
  ASSAY_ASSIGN(received.model, call.Number("model"));
  ASSAY_ASSIGN(const std::vector<life::OrderFile> files, FilesOf(call));
  // Only of a lease that is open, so that a repetition is answered like the first whatever has become of the blobs.
  ASSAY_ASSIGN(const LeaseState state, OrFail(office_.book.StateOf(worker, path.order, path.lease)));
  if (state == LeaseState::kOpen) {
    ASSAY_ASSIGN(const auto written, OrFail(office_.book.Look(path.order)));
    ASSAY_TRY(OrFail(CheckRun(office_.blobs, office_.rights, call.caller.account, written->life.order(), received, files)));
  }
  const Status taken = office_.book.Receive(worker, path.order, std::move(received), files);
  if (taken && state == LeaseState::kOpen) AdoptTelemetry(path.order, path.lease, files);
  return Under(taken, worker, path.order, path.lease);
}

Answer WorkOffice::Report(const Call& call) {
  ASSAY_ASSIGN(const std::string worker, WorkerOf(call));
  ASSAY_ASSIGN(const LeasePath path, PathOf(call));
  life::Audited audited{.lease = path.lease, .report = {}};
  ASSAY_ASSIGN(audited.report, call.Text("report", kMaxReport));
  return Under(office_.book.Report(worker, path.order, std::move(audited)), worker, path.order, path.lease);
}

Answer WorkOffice::GiveBack(const Call& call) {
  ASSAY_ASSIGN(const std::string worker, WorkerOf(call));
  ASSAY_ASSIGN(const LeasePath path, PathOf(call));
  life::Released released{.lease = path.lease};
  ASSAY_ASSIGN(const std::string why, call.Text("why", 20));
  ASSAY_ASSIGN(released.words, call.TextOr("words", kMaxWords, ""));
  // The others are for the coordinator to say.
  if (why == life::Name(life::Ending::kGivenBack)) {
    released.why = life::Ending::kGivenBack;
  } else if (why == life::Name(life::Ending::kFailed)) {
    released.why = life::Ending::kFailed;
  } else if (why == life::Name(life::Ending::kLost)) {
    released.why = life::Ending::kLost;
  } else {
    return BadRequest("why: expected \"given back\", \"failed\" or \"lost\"");
  }
  return Under(office_.book.GiveBack(worker, path.order, std::move(released)), worker, path.order, path.lease);
}

Answer WorkOffice::ShowLease(const Call& call) {
  ASSAY_ASSIGN(const std::string worker, WorkerOf(call));
  ASSAY_ASSIGN(const LeasePath path, PathOf(call));
  ASSAY_ASSIGN(const LeaseState state, OrFail(office_.book.StateOf(worker, path.order, path.lease)));
  if (state == LeaseState::kNone)
    return NotFound("there is no lease {} of order {}, or it is another worker's", path.lease, path.order);
  ASSAY_ASSIGN(const Chapter first, OrFail(office_.book.Read(path.order, 0, 1)));
  ASSAY_ASSIGN(const life::Entry entry, OrFail(life::ParseEntry(first.entries.at(0), "order")));
  ASSAY_ASSIGN(const auto written, OrFail(office_.book.Look(path.order)));
  const life::Lease* lease = written->life.Find(path.lease);
  Json run = nullptr;
  if (lease->role == life::Role::kAudit) {
    ASSAY_ASSIGN(const BroughtRun audited, OrFail(office_.book.RunOf(path.order, lease->of)));
    run = RunJson(audited);
  }
  return JsonAnswer(200, {{"order", std::get<life::Submitted>(entry.event).order},
                          {"run", std::move(run)},
                          {"committed", lease->committed ? lease->committed->size : 0}});
}

Answer WorkOffice::TakeAnswer(const Call& call) {
  ASSAY_ASSIGN(const std::string worker, WorkerOf(call));
  ASSAY_ASSIGN(const std::string point, OrFail(PointOf(worker)));
  PostedAnswer answer{.error = std::string(call.target.Query("error").value_or("")), .body = call.request.body};
  if (!answer.error.empty() && !platform::IsQuestionError(answer.error))
    return BadRequest("error: expected later, not_open, denied or never");
  if (!answer.error.empty() && answer.body.size() > kMaxWords) answer.body.resize(kMaxWords);
  ASSAY_ASSIGN(const Answered taken, OrFail(mailbox_.Answer(point, call.Path("question"), std::move(answer))));
  if (taken == Answered::kAnothers) return NotFound("this question is not put to this worker");
  return Done();
}

Json RunJson(const BroughtRun& run) {
  Json files = Json::array();
  for (const life::OrderFile& file : run.files)
    files.push_back({{"name", file.name}, {"sha256", file.sha256.hex()}, {"bytes", file.bytes}});
  return {{"receipt", run.receipt}, {"files", std::move(files)}};
}

void WorkOffice::AddLeaseRoutes(Routes& routes) {
  constexpr std::string_view kHashes =
      R"({"type":"array","maxItems":128,"items":{"type":"string","pattern":"^[0-9a-f]{64}$"}})";
  constexpr std::string_view kFiles =
      R"({"type":"array","items":{"type":"object","required":["name","sha256","bytes"],"properties":{
    "name":{"type":"string"},"sha256":{"type":"string"},"bytes":{"type":"integer","minimum":0}}}})";
  routes.AddSchema(
      "Commitment",
      fmt::format(R"({{"type":"object","required":["note","proof"],"properties":{{"note":{{"type":"string"}},"proof":{}}}}})",
                  kHashes));
  routes.AddSchema(
      "Samples",
      R"({"type":"object","required":["samples"],"properties":{"samples":{"type":"array","maxItems":256,"items":{"type":"object"}}}})");
  routes.AddSchema(
      "RunResult",
      fmt::format(
          R"({{"type":"object","required":["receipt","proof","model","files"],"properties":{{"receipt":{{"type":"string"}},
    "proof":{},"model":{{"type":"integer","minimum":0}},"files":{}}}}})",
          kHashes, kFiles));
  routes.AddSchema(
      "Run",
      fmt::format(
          R"({{"type":"object","required":["receipt","files"],"properties":{{"receipt":{{"type":"string"}},"files":{}}}}})",
          kFiles));
  routes.AddSchema("AuditReport", R"({"type":"object","required":["report"],"properties":{"report":{"type":"string"}}})");
  routes.AddSchema(
      "GivenBack",
      R"({"type":"object","required":["why"],"properties":{"why":{"type":"string","enum":["given back","failed","lost"]},"words":{"type":"string"}}})");
  routes.AddSchema(
      "Lease",
      fmt::format(R"({{"type":"object","required":["order","run","committed"],"properties":{{"order":{{"type":"string"}},
    "committed":{{"type":"integer","minimum":0}},"run":{{"type":["object","null"],"properties":{{"receipt":{{"type":"string"}},"files":{}}}}}}}}})",
                  kFiles));
  const auto add = [&](std::string verb, std::string summary, std::string schema, std::size_t max_bytes, bool quiet,
                       Answer (WorkOffice::*answer)(const Call&)) {
    routes.Add({.method = "POST",
                .path = "/v1/orders/{order}/leases/{lease}/" + verb,
                .roles = kWorkers,
                .summary = std::move(summary),
                .body = Route::Body::kJson,
                .max_body_bytes = max_bytes,
                .request_schema = std::move(schema),
                .response_schema = "Empty",
                .statuses = {409},
                .quiet = quiet,
                .background = quiet,
                .answer = [this, answer](const Call& call) { return (this->*answer)(call); }});
  };
  add("renew", "A sign of life", "Empty", 64 << 10, true, &WorkOffice::Renew);
  add("commit", "A signed checkpoint of the run's log", "Commitment", 64 << 10, false, &WorkOffice::Commit);
  add("telemetry", "Samples for whoever watches; a sign of life", "Samples", 1 << 20, true, &WorkOffice::Telemetry);
  add("result", "The receipt and the files of a finished run, all of them blobs", "RunResult", kMaxResult, false,
      &WorkOffice::TakeResult);
  add("report", "What an audit found", "AuditReport", 128 << 10, false, &WorkOffice::Report);
  add("give-back", "End the lease without a result", "GivenBack", 64 << 10, false, &WorkOffice::GiveBack);
  routes.Add({.method = "GET",
              .path = "/v1/orders/{order}/leases/{lease}",
              .roles = kWorkers,
              .summary = "What the holder of a lease needs",
              .response_schema = "Lease",
              .answer = [this](const Call& call) { return ShowLease(call); }});
  routes.Add({.method = "POST",
              .path = "/v1/answers/{question}",
              .roles = kWorkers,
              .summary = "The answer to a question of a dispute",
              .body = Route::Body::kRaw,
              .max_body_bytes = platform::kMaxAnswerBody,
              .query = {{.name = "error",
                         .type = "string",
                         .what = "later, not_open, denied or never: there is no answer, and the body says why"}},
              .request_schema = "application/octet-stream",
              .response_schema = "Empty",
              .answer = [this](const Call& call) { return TakeAnswer(call); }});
}

}  // namespace assay::coordinator
