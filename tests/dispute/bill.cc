// The referee's bill: disputes one element of every sort of node of a model and prints the dearest, and what the same would cost for larger models by their shapes.
//
// Usage: dispute_bill gpt2-124m | small [--json]. The limits are checked; exit status 1 when one is passed.
#include <time.h>

#include <bit>
#include <cstring>
#include <random>
#include <set>

#include <nlohmann/json.hpp>

#include "assay/cli/backend.h"
#include "estimate.h"
#include "jobs_for_test.h"
#include "one_step.h"
#include "play.h"

namespace assay::dispute {
namespace {

constexpr unsigned kSeed = 20261115;
constexpr std::size_t kMaxBytes = 4'000'000, kMaxDecision = 1'000'000;
constexpr double kMaxCpuMs = 1000;

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

Worst Estimate(const Terms& terms) {
  Worst worst;
  ForEachSort(terms, [&](std::size_t node, std::size_t output, std::int64_t element) {
    worst.Take(EstimateBill(terms, terms.job().steps / 2 + 1, node, output, element), 0,
               fmt::format("{} of {}", output, terms.nodes().Describe(node)));
  });
  return worst;
}

void Print(std::string_view model, const Terms& terms, const Worst& worst, bool computed) {
  nlohmann::ordered_json line = {{"section", "dispute"},
                                 {"model", model},
                                 {"from", computed ? "shapes" : "disputes"},
                                 {"steps", terms.job().steps},
                                 {"nodes", terms.nodes().size()},
                                 {"disputes", worst.disputes},
                                 {"rounds", worst.bill.rounds},
                                 {"rounds_allowed", AllowedRounds(terms)},
                                 {"bytes_received", worst.bill.bytes},
                                 {"decision_bytes", worst.bill.decision_bytes},
                                 {"dearest", worst.dearest}};
  if (!computed) line["referee_cpu_ms"] = worst.cpu_ms;
  fmt::print("{}\n", line.dump());
}

Terms LlamaTerms(std::int64_t layers, std::int64_t heads, std::int64_t kv_heads, std::int64_t width, std::int64_t hidden) {
  Job job;
  job.steps = 4096;
  job.commit_every = 1;
  job.model = LlamaConfig{.vocab = 32000,
                          .context = 4096,
                          .layers = layers,
                          .heads = heads,
                          .kv_heads = kv_heads,
                          .width = width,
                          .hidden = hidden};
  job.batch = {.microbatch = 4, .microbatches = 8, .sequence = 4096};
  job.optimizer.clip_norm = 1;
  job.data.kind = DataKind::kTokens;
  auto terms = Terms::Make(Encode(job, {}), Encode(BuildProgram(job.model, job.optimizer, job.batch)));
  ASSAY_CHECK(terms.has_value());
  return std::move(*terms);
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
  Print(large ? "gpt2-124m b8 t64" : "gpt2 small", content.terms(), worst, false);
  const Worst computed = Estimate(content.terms());
  Print(large ? "gpt2-124m b8 t64" : "gpt2 small", content.terms(), computed, true);
  if (computed.bill.rounds != worst.bill.rounds || computed.disputes != worst.disputes) worst.failed = true;
  const Terms seven = LlamaTerms(32, 32, 32, 4096, 11008), seventy = LlamaTerms(80, 64, 8, 8192, 28672);
  Print("llama-7b b32 t4096", seven, Estimate(seven), true);
  Print("llama-70b b32 t4096", seventy, Estimate(seventy), true);
  const bool within = worst.bill.bytes <= kMaxBytes && worst.bill.decision_bytes <= kMaxDecision &&
                      worst.bill.rounds <= AllowedRounds(content.terms()) && worst.cpu_ms <= kMaxCpuMs;
  if (!within)
    fmt::print(stderr, "dispute_bill: over the limits of {} and {} bytes, {} ms\n", kMaxBytes, kMaxDecision, kMaxCpuMs);
  return within && !worst.failed ? 0 : 1;
}

}  // namespace
}  // namespace assay::dispute

int main(int argc, char** argv) {
  const bool large = argc == 2 && std::strcmp(argv[1], "gpt2-124m") == 0;
  if (!large && !(argc == 2 && std::strcmp(argv[1], "small") == 0)) {
    fmt::print(stderr, "usage: dispute_bill gpt2-124m|small\n");
    return 2;
  }
  return assay::dispute::Run(large);
}
