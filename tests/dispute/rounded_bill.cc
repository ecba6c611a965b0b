#include "rounded_bill.h"

#include <time.h>

#include <array>
#include <cstring>
#include <map>
#include <random>

#include <nlohmann/json.hpp>

#include "assay/cli/backend.h"
#include "assay/dispute/evidence.h"
#include "assay/dispute/operands.h"
#include "assay/dispute/referee.h"
#include "assay/dispute/squares.h"
#include "assay/job/rounded_bill.h"
#include "assay/rounding/decision_log.h"
#include "assay/semantics/rounded/formula.h"
#include "counted_memory.h"
#include "jobs_for_test.h"
#include "kept_evidence.h"
#include "large_jobs.h"
#include "one_step.h"

namespace assay::dispute {
namespace {

constexpr unsigned kSeed = 20261116;
constexpr int kTries = 64;                       // elements of an output, of which the dearest is disputed
constexpr std::int64_t kMaxMemory = 64'000'000;  // of a referee, and of a judge
constexpr std::int64_t kStep = 2049;             // which is disputed

constexpr const char* kCloseCall = "close call";

double CpuMs() {
  timespec at{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &at);
  return 1e3 * static_cast<double>(at.tv_sec) + 1e-6 * static_cast<double>(at.tv_nsec);
}

// What a piece of work took.
struct Cost {
  double ms = 0;
  std::int64_t bytes = 0;  // of the heap at its peak
};
template <class Work>
Cost CostOf(const Work& work) {
  ResetPeak();
  const double begin = CpuMs();
  work();
  return {CpuMs() - begin, PeakBytes()};
}

struct Outcome {
  std::uint64_t bytes = 0;      // of receipts and answers, as encoded
  std::uint64_t log_bytes = 0;  // of those about rounding logs
  std::size_t evidence = 0;
  Cost referee, judge;
  std::string wrong;  // why the verdict is not that the liar lied
};

// Two providers before a referee. What they answer is kept, so that it can be said again at no cost.
class Court {
 public:
  Court(const OneStep& content, const OneLie& lie)
      : content_(content),
        keys_{SigningKey("honest", {1}), SigningKey("liar", {2})},
        referee_("referee", {3}),
        accounts_{OneStepAccount(content, keys_[0], std::nullopt), OneStepAccount(content, keys_[1], lie)} {
    options_.referee = referee_.verify_key().point();
  }

  Outcome Try() {
    Outcome outcome;
    Bytes evidence;
    static_cast<void>(Play(outcome));  // asks the providers
    for (const auto& [asked, answer] : said_) {
      outcome.bytes += answer.size();
      const Question question = DecodeQuestion(asked.second).value().question;
      const auto* leaves = std::get_if<LeavesQuestion>(&question);
      if (leaves != nullptr && leaves->tree.kind == TreeKind::kRoundingLog) outcome.log_bytes += answer.size();
    }
    for (const OneStepAccount& account : accounts_) outcome.bytes += account.receipt().size();
    outcome.referee = CostOf([&] { evidence = Play(outcome); });
    outcome.evidence = evidence.size();
    if (const auto whole = DecodeEvidence(evidence)) KeepEvidence(*whole);
    outcome.judge = CostOf([&] {
      const auto read = DecodeEvidence(evidence);
      const auto judged = read ? Judge(*read) : Result<Judgement>(tl::unexpected(read.error()));
      if (!judged) {
        outcome.wrong = judged.error().message;
      } else if (!judged->convicts || judged->parties[0].standing != Standing::kStanding ||
                 judged->parties[1].standing != Standing::kConvicted) {
        outcome.wrong = "the evidence does not convict the liar";
      }
    });
    return outcome;
  }

 private:
  Bytes Play(Outcome& outcome) {
    const auto terms =
        std::make_shared<const Terms>(Terms::Make(content_.terms().job_bytes(), content_.terms().program_bytes()).value());
    std::vector<std::string> receipts;
    std::vector<Claim> claims;
    for (const OneStepAccount& account : accounts_) {
      receipts.push_back(account.receipt());
      claims.push_back(OpenClaim(receipts.back(), "receipt").value());
    }
    Referee referee(LawOf(terms, options_), claims, {});
    std::vector<Action> actions = referee.Handle(Started{});
    while (!referee.done()) {
      std::vector<Action> next;
      for (const Action& action : actions) {
        const auto* send = std::get_if<Send>(&action);
        if (send == nullptr) continue;
        const std::vector<Action> more =
            referee.Handle(Answered{send->provider, HashBytes(send->question), Say(send->provider, send->question), 0});
        next.insert(next.end(), more.begin(), more.end());
      }
      actions = std::move(next);
      if (actions.empty() && !referee.done()) {
        outcome.wrong = "the referee waits for nothing";
        return {};
      }
    }
    const Record& record = referee.record();
    if (record.providers[0].standing != Standing::kStanding || record.providers[1].standing != Standing::kConvicted) {
      outcome.wrong = record.matches.empty() ? "no match" : record.matches.front().drawn + record.providers[0].why;
    }
    return Encode(MakeEvidence(*terms, options_, receipts, std::vector<std::uint32_t>{0, 1}, record));
  }
  const Bytes& Say(ProviderId provider, const Bytes& question) {
    const auto [at, fresh] = said_.try_emplace({provider, question});
    if (fresh) {
      const Question asked = DecodeQuestion(question).value().question;
      at->second = Encode(Sign(question, AnswerFrom(accounts_[provider], asked).value(), keys_[provider]));
    }
    return at->second;
  }

  const OneStep& content_;
  std::array<SigningKey, 2> keys_;
  SigningKey referee_;
  LawOptions options_;
  std::array<OneStepAccount, 2> accounts_;
  std::map<std::pair<ProviderId, Bytes>, Bytes> said_;
};

struct Sort {
  OneLie lie;
  std::uint64_t words = 0;
};

// Of every output of every kind of op, the element that most words are told about.
std::map<std::string, Sort> DearestOf(const StepNodes& nodes) {
  std::mt19937_64 random(kSeed);
  std::map<std::string, Sort> dearest;
  for (std::size_t n = 0; n < nodes.size(); ++n) {
    const OpInstance op = nodes.Instance(n);
    for (std::size_t k = 0; k < op.out.size(); ++k) {
      const std::int64_t elements = op.out[k].elements();
      if (op.out[k].dtype != DType::kF32) continue;
      const bool squares = SquaresTree::Applies(op);
      const std::uint64_t most = squares ? static_cast<std::uint64_t>(op.in[0].elements()) : ops::MaxOperandWords(op);
      Sort& sort = dearest[fmt::format("{} {}", op.def->name, k)];
      if (most == 0 || most <= sort.words) continue;
      for (int i = 0; i < kTries; ++i) {
        const std::int64_t element = i == 0 ? 0 : static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(elements));
        const std::uint64_t words = squares ? most : Operands::Of(op, static_cast<int>(k), element)->words();
        if (words > sort.words) sort = {{n, k, element}, words};
      }
    }
  }
  std::erase_if(dearest, [](const auto& item) { return item.second.words == 0; });
  return dearest;
}

bool Check(const std::string& job, const std::string& sort, const OneStep& content, const Sort& what) {
  const OpInstance op = content.terms().nodes().Instance(what.lie.node);
  const Outcome outcome = Court(content, what.lie).Try();
  const std::uint64_t most = RoundedBill(content.terms().job(), content.terms().program()).Most(op);
  const nlohmann::ordered_json line = {{"section", "rounded"},
                                       {"model", job},
                                       {"sort", sort},
                                       {"words", what.words},
                                       {"bytes_received", outcome.bytes},
                                       {"log_bytes", outcome.log_bytes},
                                       {"bytes_at_most", most},
                                       {"evidence_bytes", outcome.evidence},
                                       {"referee_mb", static_cast<double>(outcome.referee.bytes) / 1e6},
                                       {"judge_mb", static_cast<double>(outcome.judge.bytes) / 1e6},
                                       {"referee_cpu_ms", outcome.referee.ms},
                                       {"judge_cpu_ms", outcome.judge.ms}};
  fmt::print("{}\n", line.dump());
  std::fflush(stdout);
  if (!outcome.wrong.empty()) fmt::print(stderr, "dispute_bill: {}: {}: {}\n", job, sort, outcome.wrong);
  if (sort == kCloseCall && outcome.log_bytes == 0) {
    fmt::print(stderr, "dispute_bill: {}: no log was looked into\n", job);
    return false;
  }
  const bool within = outcome.bytes <= most && most <= kMaxRoundedBytes && outcome.referee.bytes <= kMaxMemory &&
                      outcome.judge.bytes <= kMaxMemory;
  if (!within) {
    fmt::print(stderr, "dispute_bill: {}: {}: over the limits of {} bytes received and {} bytes of memory\n", job, sort,
               kMaxRoundedBytes, kMaxMemory);
  }
  return within && outcome.wrong.empty();
}

// The element at a position of the step's log.
OneLie PlaceOf(const StepNodes& nodes, std::uint64_t position) {
  for (std::size_t n = 0; n < nodes.size(); ++n) {
    const OpInstance op = nodes.Instance(n);
    if (!op.def->has_bound()) continue;
    for (std::size_t k = 0; k < op.out.size(); ++k) {
      const auto elements = static_cast<std::uint64_t>(op.out[k].elements());
      if (op.out[k].dtype != DType::kF32) continue;
      if (position < elements) return {n, k, static_cast<std::int64_t>(position)};
      position -= elements;
    }
  }
  ASSAY_CHECK(false);
}

// An element between two values, of which the liar's is the other one: both logs are looked into there. A lie changes the last bit of a value.
std::optional<OneLie> CloseCall(const OneStep& content) {
  const auto log = rounding::DecodeDecisions(content.rounding_log(), "log").value();
  for (std::size_t i = log.decisions.size() / 2; i < log.decisions.size(); ++i) {
    const rounding::Decision& decision = log.decisions[i];
    const OneLie lie = PlaceOf(content.terms().nodes(), decision.position);
    // Attention's kernels have wider bounds than the referee, to whom most of their decisions are none.
    if (content.terms().nodes().Instance(lie.node).def->name.starts_with("attention")) continue;
    std::uint32_t bits = 0;
    std::memcpy(&bits, content.Output(lie.node, lie.output).data() + 4 * lie.element, sizeof bits);
    const bool greater = (bits & 1) == bits >> 31;  // than the value, with the last bit changed
    if (!decision.wide && greater != decision.up) return lie;
  }
  return std::nullopt;
}

bool PlayJob(const std::string& name, const std::string& text) {
  const PreparedJob prepared =
      PreparedFrom("steps = 4096\nseed = 3\nprecision = \"fp64-rounded\"\n[commit]\nevery = 1\n" + text);
  ThreadPool pool(2);
  const auto backend = cli::MakeVendorBackend("cpu", prepared.job, pool);
  if (!backend) {
    fmt::print(stderr, "dispute_bill: {}: skipped: {}\n", name, backend.error().message);
    return true;
  }
  const OneStep content(prepared, **backend, kStep);
  bool good = true;
  for (const auto& [sort, what] : DearestOf(content.terms().nodes())) {
    if (what.words > 32 * 1024) good = Check(name, sort, content, what) && good;
  }
  if (const auto lie = CloseCall(content)) good = Check(name, kCloseCall, content, {*lie, 0}) && good;
  return good;
}

bool FromShapes(const std::string& name, const ModelConfig& model, const BatchConfig& batch) {
  const LargeJob job = Large(name, model, batch, Precision::kFp64Rounded);
  const RoundedBill bill(job.terms.job(), job.terms.program());
  std::map<std::uint64_t, std::string> most;
  for (const Graph* graph : {&job.terms.program().micro, &job.terms.program().update}) {
    for (const Node& node : graph->nodes()) {
      const OpInstance op = graph->Instance(node);
      most[bill.Most(op)] = fmt::format("{}, {} words", op.def->name, ops::MaxOperandWords(op));
    }
  }
  const nlohmann::ordered_json line = {{"section", "rounded"},
                                       {"model", name},
                                       {"from", "shapes"},
                                       {"dearest", most.rbegin()->second},
                                       {"bytes_at_most", most.rbegin()->first},
                                       {"entries_compared", job.terms.entries_compared()}};
  fmt::print("{}\n", line.dump());
  return most.rbegin()->first <= kMaxRoundedBytes;
}

struct TestedJob {
  const char* name;
  const char* text;
};

constexpr TestedJob kLarge[] = {{"gpt2-124m b8 t64", R"(
[model]
kind = "gpt2"
vocab = 50257
[data]
kind = "chars"
[batch]
microbatch = 8
sequence = 64
[optimizer]
clip_norm = 1.0
weight_decay = 0.1
)"},
                                {"resnet-50 cifar b4", R"(
[model]
kind = "resnet"
depth = 50
cifar_stem = true
[data]
kind = "images"
image = 32
samples = 40
[batch]
microbatch = 4
[optimizer]
kind = "sgd"
momentum = 0.9
clip_norm = 1.0
)"}};

// Narrow models that come near the limit of words: sums over a batch, over images of the usual size, over one head and a long sequence, and over many short
// sequences. The second has the squares of eight million weights instead.
constexpr TestedJob kSmall[] = {{"mlp b395000", R"(
[model]
kind = "mlp"
hidden = [2]
[data]
kind = "features"
features = 2
classes = 2
samples = 400000
validation = 0.01
[batch]
microbatch = 395000
)"},
                                {"mlp 2000x4000", R"(
[model]
kind = "mlp"
hidden = [4000]
[data]
kind = "features"
features = 2000
classes = 2
samples = 10
[batch]
microbatch = 2
[optimizer]
clip_norm = 1.0
)"},
                                {"resnet-18 b32 224x224, width 1", R"(
[model]
kind = "resnet"
depth = 18
width = 1
cifar_stem = false
[data]
kind = "images"
image = 224
samples = 40
[batch]
microbatch = 32
)"},
                                {"gpt2 t4096, one head", R"(
[model]
kind = "gpt2"
layers = 1
heads = 1
width = 64
context = 4096
dropout = 0.1
[data]
kind = "chars"
validation = 0.2
[batch]
microbatch = 1
sequence = 4096
)"},
                                {"gpt2 b6000 t32, width 4", R"(
[model]
kind = "gpt2"
layers = 1
heads = 1
width = 4
context = 32
[data]
kind = "chars"
[batch]
microbatch = 6000
sequence = 32
)"}};

}  // namespace

bool PlayRoundedBills(bool large) {
  bool good = true;
  for (const TestedJob& job : large ? std::span<const TestedJob>(kLarge) : std::span<const TestedJob>(kSmall)) {
    good = PlayJob(job.name, job.text) && good;
  }
  good = FromShapes("gpt2-124m b8 t1024", Gpt2Config{}, {.microbatch = 8, .microbatches = 64, .sequence = 1024}) && good;
  const ResNetConfig resnet{.depth = 50, .cifar_stem = false, .classes = 1000, .image = 224};
  return FromShapes("resnet-50 b32 224x224", resnet, {.microbatch = 32, .microbatches = 64}) && good;
}

}  // namespace assay::dispute
