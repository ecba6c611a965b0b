// The referee's bill: disputes one element of every sort of node of a model and prints the dearest, and what the same would cost for larger models by their shapes.
//
// Everything that the referee receives counts: receipts, the job's encoding and all answers; the program it builds itself. The honest provider's bill is printed with it.
//
// Usage: dispute_bill gpt2-124m | small | rounded | rounded-small, the last two for rounded jobs (rounded_bill.h). The limits are checked; exit status 1 when one
// is passed.
#include <time.h>

#include <bit>
#include <random>
#include <set>

#include <nlohmann/json.hpp>

#include "assay/cli/backend.h"
#include "assay/dispute/run_account.h"
#include "counted_memory.h"
#include "estimate.h"
#include "jobs_for_test.h"
#include "large_jobs.h"
#include "one_step.h"
#include "play.h"
#include "rounded_bill.h"

namespace assay::dispute {
namespace {

constexpr unsigned kSeed = 20261115;
constexpr std::size_t kMaxBytes = 1'000'000;
constexpr std::size_t kReceiptBytes = 4096;  // more than any has
constexpr double kMaxCpuMs = 1000;
constexpr std::int64_t kMaxTermsBytes = 64'000'000;

double CpuMs() {
  timespec at{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &at);
  return 1e3 * static_cast<double>(at.tv_sec) + 1e-6 * static_cast<double>(at.tv_nsec);
}

std::size_t AllowedRounds(const Terms& terms) {
  const auto log2 = [](std::uint64_t n) { return static_cast<std::size_t>(std::bit_width(n - 1)); };
  return log2(static_cast<std::uint64_t>(terms.job().steps)) + log2(terms.nodes().size()) + 12;
}

struct Worst {
  Bill bill;
  double cpu_ms = 0;
  std::string dearest;
  std::size_t disputes = 0;
  bool failed = false;

  void Take(const Bill& b, double ms, const std::string& name) {
    ++disputes;
    if (b.decision_bytes > bill.decision_bytes) dearest = name;
    bill.rounds = std::max(bill.rounds, b.rounds);
    bill.bytes = std::max(bill.bytes, b.bytes);
    bill.decision_bytes = std::max(bill.decision_bytes, b.decision_bytes);
    cpu_ms = std::max(cpu_ms, ms);
  }
};

// Calls visit(node, output, element) once for each op with these types and attributes.
template <class F>
void ForEachSort(const Terms& terms, const F& visit) {
  std::mt19937_64 random(kSeed);
  std::set<std::string> seen;
  const StepNodes& nodes = terms.nodes();
  for (std::size_t n = 0; n < nodes.size(); ++n) {
    const OpInstance op = nodes.Instance(n);
    std::string sort = fmt::format("{} {}", op.def->name, ToString(op.attrs, op.def->attrs));
    for (const TensorType& type : op.in) sort += ToString(type);
    if (!seen.insert(sort).second) continue;
    for (std::size_t k = 0; k < op.out.size(); ++k) {
      if (op.out[k].elements() > 0)
        visit(n, k, static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(op.out[k].elements())));
    }
  }
}

Worst Dispute(const OneStep& content) {
  const SigningKey good("honest", {1}), bad("liar", {2});
  OneStepAccount honest(content, good, std::nullopt);
  const Claim honest_claim = *OpenClaim(honest.receipt(), "receipt");
  Worst worst;
  ForEachSort(content.terms(), [&](std::size_t node, std::size_t output, std::int64_t element) {
    OneStepAccount liar(content, bad, OneLie{node, output, element});
    const Claim liar_claim = *OpenClaim(liar.receipt(), "receipt");
    double spent = 0, answering = 0;
    const auto say = [&](Account& account) {
      return [&](const Question& question) {
        const double begin = CpuMs();
        Result<Bytes> body = AnswerFrom(account, question);
        answering += CpuMs() - begin;
        return body;
      };
    };
    const double begin = CpuMs();
    const Played played = Play(content.terms(), liar_claim, honest_claim, say(liar), say(honest));
    spent = CpuMs() - begin - answering;
    const std::string name = fmt::format("{} of {}", output, content.terms().nodes().Describe(node));
    const Finding* finding = played.finding();
    if (finding == nullptr || !finding->guilty[0] || finding->guilty[1] || finding->node != node ||
        finding->element != element) {
      fmt::print(stderr, "WRONG: output {} (node {}, element {}): {}\n", name, node, element,
                 finding == nullptr ? "no verdict" : finding->reason);
      worst.failed = true;
    }
    worst.Take({played.rounds, played.bytes, played.decision_bytes}, spent, name);
  });
  return worst;
}

std::size_t SetupBytes(const Terms& terms) { return terms.job_bytes().size() + 2 * kReceiptBytes; }

// What reading the job takes at its peak, and how long.
struct Reading {
  std::int64_t bytes = 0;
  double ms = 0;
};

Reading ReadTerms(const Terms& terms) {
  ResetPeak();
  const double begin = CpuMs();
  const bool read = Terms::Rebuild(terms.job_bytes()).has_value();
  ASSAY_CHECK(read);
  return {PeakBytes(), CpuMs() - begin};
}

Worst Estimate(const Terms& terms) {
  Worst worst;
  for (std::size_t field = 0; field < terms.fields().size(); ++field) {
    const auto rows = static_cast<std::uint64_t>(terms.fields()[field].type.shape[0]);
    worst.Take(EstimateBatchBill(terms, terms.job().steps / 2 + 1, field, rows / 2), 0,
               fmt::format("batch field {}", terms.fields()[field].name));
  }
  ForEachSort(terms, [&](std::size_t node, std::size_t output, std::int64_t element) {
    worst.Take(EstimateBill(terms, terms.job().steps / 2 + 1, node, output, element), 0,
               fmt::format("{} of {}", output, terms.nodes().Describe(node)));
  });
  return worst;
}

// Whether it is within the limits.
bool Print(std::string_view model, const Terms& terms, const Worst& worst, bool computed) {
  const std::size_t received = SetupBytes(terms) + worst.bill.bytes;
  const Reading reading = ReadTerms(terms);
  nlohmann::ordered_json line = {{"section", "dispute"},
                                 {"model", model},
                                 {"from", computed ? "shapes" : "disputes"},
                                 {"steps", terms.job().steps},
                                 {"nodes", terms.nodes().size()},
                                 {"disputes", worst.disputes},
                                 {"rounds", worst.bill.rounds},
                                 {"rounds_allowed", AllowedRounds(terms)},
                                 {"bytes_received", received},
                                 {"decision_bytes", worst.bill.decision_bytes},
                                 {"dearest", worst.dearest}};
  line["program_bytes"] = terms.program_bytes().size();  // built, not received
  line["terms_mb"] = static_cast<double>(reading.bytes) / 1e6;
  line["referee_cpu_ms"] = worst.cpu_ms + reading.ms;
  fmt::print("{}\n", line.dump());
  const bool within = received <= kMaxBytes && worst.bill.rounds <= AllowedRounds(terms) &&
                      worst.cpu_ms + reading.ms <= kMaxCpuMs && reading.bytes <= kMaxTermsBytes;
  if (!within) {
    fmt::print(stderr, "dispute_bill: {}: over the limits of {} bytes received, {} rounds, {} ms, {} bytes of memory\n", model,
               kMaxBytes, AllowedRounds(terms), kMaxCpuMs, kMaxTermsBytes);
  }
  return within && !worst.failed;
}

// What answering can cost an honest provider: of one match, and of a dispute of n receipts, in which it plays at most 2 (n - 1) bouts.
void PrintProvider(std::int64_t commit_every, std::int64_t snapshot_every) {
  const Work match = RunAccount::BillOf(commit_every, std::max(commit_every, snapshot_every));
  for (const std::int64_t receipts : {2, 8, 64}) {
    const std::int64_t bouts = 2 * (receipts - 1);
    const nlohmann::ordered_json line = {{"section", "provider"},
                                         {"commit_every", commit_every},
                                         {"snapshot_every", snapshot_every},
                                         {"receipts", receipts},
                                         {"bouts", bouts},
                                         {"steps_run", bouts * match.steps_run},
                                         {"steps_traced", bouts * match.steps_traced},
                                         {"batches_loaded", bouts * match.batches_loaded}};
    fmt::print("{}\n", line.dump());
  }
}

int Run(bool large) {
  const PreparedJob prepared = PreparedFrom(
      large ? "steps = 4096\nseed = 3\n[commit]\nevery = 1\n[model]\nkind = \"gpt2\"\nvocab = 50257\n[data]\nkind = "
              "\"chars\"\n[batch]\nmicrobatch = 8\nsequence = 64\n"
              "[optimizer]\nclip_norm = 1.0\nweight_decay = 0.1\n"
            : "steps = 4096\nseed = 3\n[commit]\nevery = 1\n[model]\nkind = \"gpt2\"\nlayers = 1\nheads = 4\nwidth = "
              "320\ncontext = 128\nvocab = 2000\n[data]\nkind = "
              "\"chars\"\n[batch]\nmicrobatch = 4\nsequence = 96\n[optimizer]\nclip_norm = 1.0\nweight_decay = 0.1\n");
  ThreadPool pool(2);
  auto backend = cli::MakeBackend("cpu", "auto", pool);
  ASSAY_CHECK(backend.has_value());
  const OneStep content(prepared, **backend, 2049);
  Worst worst = Dispute(content);
  const std::string name = large ? "gpt2-124m b8 t64" : "gpt2 small";
  bool within = Print(name, content.terms(), worst, false);
  const Worst computed = Estimate(content.terms());
  within = Print(name, content.terms(), computed, true) && within;
  std::vector<LargeJob> jobs = LargeJobs();
  jobs.push_back(Llama7B());
  for (const LargeJob& job : jobs) within = Print(job.name, job.terms, Estimate(job.terms), true) && within;
  PrintProvider(1, 1);
  PrintProvider(10, 100);
  return within && computed.bill.rounds >= worst.bill.rounds ? 0 : 1;
}

}  // namespace
}  // namespace assay::dispute

int main(int argc, char** argv) {
  const std::string_view what = argc == 2 ? argv[1] : "";
  if (what == "rounded" || what == "rounded-small") return assay::dispute::PlayRoundedBills(what == "rounded") ? 0 : 1;
  if (what != "gpt2-124m" && what != "small") {
    fmt::print(stderr, "usage: dispute_bill gpt2-124m|small|rounded|rounded-small\n");
    return 2;
  }
  return assay::dispute::Run(what == "gpt2-124m");
}
