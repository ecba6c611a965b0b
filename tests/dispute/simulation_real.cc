// Simulated disputes over real runs of a small job, under the real law and with real signatures.
#include <memory>
#include <numeric>
#include <random>

#include "assay/dispute/evidence.h"
#include "jobs_for_test.h"
#include "memory_run.h"
#include "simulation.h"

namespace assay::dispute {
namespace {

constexpr std::size_t kKeys = 8;

// Runs take longer to make than to dispute: they are made once.
class Runs {
 public:
  Runs() : prepared_(PreparedFrom(MlpJob(6, 2, 2))) {
    for (std::size_t i = 0; i < kKeys; ++i)
      keys_.emplace_back(fmt::format("party{}", i), ed25519::Seed{static_cast<std::uint8_t>(i + 1)});
    const auto flip_node = [](std::int64_t at, std::size_t which) {
      return [=](std::int64_t step, std::size_t node, std::span<const std::span<std::uint8_t>> outputs) {
        if (step == at && node == which) outputs[0][0] ^= 1;
      };
    };
    Make({});
    Make({.node = flip_node(3, 5)});
    Make({.node = [=](std::int64_t step, std::size_t node, auto outputs) {
      flip_node(3, 5)(step, node, outputs);
      flip_node(6, 20)(step, node, outputs);
    }});
    Make({.node = flip_node(3, 40)});
    Make({.after = [](std::int64_t step, State& state) {
      if (step == 4) state[3].mutable_bytes()[5] ^= 1;
    }});
    Make({.start = [](State& state) { state[1].mutable_bytes()[100] ^= 1; }});
    Make({.plan = [](std::int64_t step, StepPlan& plan) {
      if (step >= 3) plan.lr *= 2;
    }});
    const auto poison = [](std::int64_t step, std::int64_t microbatch, std::span<Tensor> fields) {
      if (step == 5 && microbatch == 1) fields[0].mutable_bytes()[8] ^= 0x40;
    };
    Make({.batch = poison});
    Make({.batch = poison, .admits_batches = true});
    Make({.loss = [](std::int64_t step, std::uint32_t& bits) {
      if (step == 2) bits ^= 1;
    }});
    Make({.receipt = [](Receipt& receipt) { receipt.final_state_root.bytes[0] ^= 1; }});
  }

  std::shared_ptr<const Terms> terms() const { return terms_; }
  std::size_t size() const { return runs_.size(); }
  MemoryRun& run(std::size_t i) const { return *runs_[i]; }
  const SigningKey& key(std::size_t i) const { return keys_[i]; }

  // The receipt of a run under another key.
  std::string ReceiptOf(std::size_t run, std::size_t key) const {
    Receipt receipt = OpenClaim(runs_[run]->receipt(), "receipt")->receipt;
    receipt.signer = keys_[key].verify_key().ToString();
    return SignReceipt(receipt, keys_[key]);
  }

 private:
  void Make(Lies lies) {
    runs_.push_back(std::make_unique<MemoryRun>(prepared_, keys_.front(), std::move(lies)));
    if (!terms_) terms_ = std::make_shared<const Terms>(*Terms::Make(runs_.front()->job(), runs_.front()->program()));
  }
  PreparedJob prepared_;
  std::vector<SigningKey> keys_;
  std::vector<std::unique_ptr<MemoryRun>> runs_;
  std::shared_ptr<const Terms> terms_;
};

// What is wrong with what a stranger finds in the file.
std::string Judged(const Evidence& evidence, const Record& record) {
  const Result<Evidence> read = DecodeEvidence(Encode(evidence));
  if (!read) return read.error().message;
  const Result<Judgement> judgement = Judge(*read);
  if (!judgement) return judgement.error().message;
  for (const Judgement::Party& party : judgement->parties) {
    if (party.standing != record.providers[party.number].standing)
      return fmt::format("party {} has another standing", party.number);
    if (party.proven == (party.standing == Standing::kSilent)) return fmt::format("party {}: {}", party.number, party.by);
  }
  return "";
}

}  // namespace

Simulated SimulateReal(std::uint64_t seed) {
  static const Runs runs;
  std::mt19937_64 random(seed ^ 0x7265616c);
  ByteWriter nonce;
  nonce.U64(seed);
  const LawOptions options{.referee = {}, .nonce = HashBytes(nonce.bytes())};
  Scenario scenario{LawOf(runs.terms(), options), {}, {}, {}};
  std::vector<std::string> receipts;
  for (std::size_t i = 0; i < runs.size(); ++i) {
    scenario.runs.push_back([i](const Question& question) { return runs.run(i).Answer(question); });
  }
  const std::size_t providers = 2 + random() % (kKeys - 1), honest = random() % providers;
  for (std::size_t id = 0; id < providers; ++id) {
    const bool good = id == honest || random() % 8 == 0;
    const std::size_t which = good ? 0 : random() % runs.size();
    const Habit habit = good                ? Habit::kHonest
                        : random() % 2 == 0 ? Habit::kConsistent
                                            : static_cast<Habit>(1 + random() % (kHabits - 1));
    receipts.push_back(runs.ReceiptOf(which, id));
    scenario.actors.push_back(
        {*OpenClaim(receipts.back(), "receipt"), habit, scenario.runs[which],
         [id](ByteSpan asked, Bytes body) { return Encode(Sign(asked, std::move(body), runs.key(id))); }});
  }
  std::vector<std::uint32_t> numbers(providers);
  std::iota(numbers.begin(), numbers.end(), 0u);
  scenario.judge = [&](const Record& record) {
    return Judged(MakeEvidence(*runs.terms(), options, receipts, numbers, record), record);
  };
  return Simulate(scenario, seed);
}

}  // namespace assay::dispute
