#include "worker_craft.h"

#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

#include "assay/worker/workplace.h"
#include "conduct.h"

namespace assay::attacks {
namespace {

constexpr WorkerCheat kWorkerCheats[] = {
    {"silent", "delivers a false run and answers no question about it"},
    {"vanishing", "takes a lease, trains some steps and dies"},
    {"late", "trains honestly, stands still until its lease is over, and delivers then"},
};
constexpr std::string_view kLieOfTheSilent = "wrong-learning-rate";

class CheatingTestimony : public worker::Testimony {
 public:
  explicit CheatingTestimony(std::unique_ptr<CheatingProvider> provider) : provider_(std::move(provider)) {}
  dispute::RunAccount& account() override { return provider_->account(); }
  const SigningKey& key() const override { return provider_->key(); }

 private:
  std::unique_ptr<CheatingProvider> provider_;
};

// Trains by a lie, and lies again in the same places when it is asked.
class LyingCraft : public worker::Craft {
 public:
  LyingCraft(const Cheat& cheat, std::int64_t at, bool answers) : cheat_(cheat), at_(at), answers_(answers) {}

  Result<TrainOutcome> Train(const PreparedJob& prepared, const std::string& run_path, const SigningKey& key,
                             const worker::Compute& compute, const TrainHooks&) override {
    // What an earlier process left is not gone on with: these trainers cannot.
    if (!Exists(JoinPath(run_path, "receipt.json"))) {
      ASSAY_TRY(worker::RemoveFolder(run_path));
      ASSAY_TRY(RunCheat(cheat_, {.job = prepared.job, .out = run_path, .at = at_}, key, *compute.backend, *compute.pool));
    }
    TrainOutcome outcome;
    outcome.step = prepared.job.steps;
    return outcome;
  }
  Result<std::unique_ptr<worker::Testimony>> Testify(const PreparedJob& prepared, const std::string& run_path,
                                                     const SigningKey& key, const worker::Compute& compute,
                                                     std::size_t) override {
    ASSAY_ASSIGN(auto provider, CheatingProvider::Open(cheat_, {.job = prepared.job, .out = run_path, .at = at_}, key,
                                                       *compute.backend, *compute.pool));
    return std::make_unique<CheatingTestimony>(std::move(provider));
  }
  bool answers() const override { return answers_; }

 private:
  const Cheat& cheat_;
  const std::int64_t at_;
  const bool answers_;
};

class VanishingCraft : public worker::Craft {
 public:
  Result<TrainOutcome> Train(const PreparedJob& prepared, const std::string& run_path, const SigningKey& key,
                             const worker::Compute& compute, const TrainHooks& hooks) override {
    TrainHooks dying = hooks;
    dying.on_step = [&](const StepReport& report) {
      hooks.on_step(report);
      if (2 * report.step >= prepared.job.steps) ::raise(SIGKILL);
    };
    return Craft::Train(prepared, run_path, key, compute, dying);
  }
};

// Stops the whole process for a while, as a machine that hangs.
class LateCraft : public worker::Craft {
 public:
  explicit LateCraft(int stall_s) : stall_s_(static_cast<unsigned>(stall_s)) {}
  bool BeforeDelivery() override {
    const pid_t self = ::getpid();
    if (const pid_t child = ::fork(); child == 0) {
      ::sleep(stall_s_);
      ::kill(self, SIGCONT);
      ::_exit(0);
    }
    ::raise(SIGSTOP);
    return true;
  }

 private:
  const unsigned stall_s_;
};

}  // namespace

std::span<const WorkerCheat> WorkerCheats() { return kWorkerCheats; }

Result<std::unique_ptr<worker::Craft>> MakeWorkerCheat(std::string_view name, std::int64_t at, int stall_s) {
  if (name == "vanishing") return std::make_unique<VanishingCraft>();
  if (name == "late") return std::make_unique<LateCraft>(stall_s);
  const bool silent = name == "silent";
  const Cheat* cheat = FindCheat(silent ? kLieOfTheSilent : name);
  if (cheat == nullptr) return Err("unknown cheat '{}'; cheat --list names them all", name);
  return std::make_unique<LyingCraft>(*cheat, at, !silent);
}

}  // namespace assay::attacks
