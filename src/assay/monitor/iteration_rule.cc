#include "assay/monitor/iteration_rule.h"

#include <algorithm>

namespace assay::monitor {
namespace {

// What is wrong with the order of the records of a session, or with where it goes on.
std::string FaultOf(const Session& session, std::int64_t recorded) {
  std::int64_t expected = session.record.first_step;
  if (expected > recorded) return fmt::format("steps {} to {} were trained without telemetry", recorded + 1, expected);
  for (const auto& step : session.steps) {
    ++expected;
    if (step.body.step < expected) return fmt::format("step {} is recorded twice in one session", step.body.step);
    if (step.body.step > expected) return fmt::format("step {} is missing", expected);
    const Iteration at = IterationOf(step.body.step - 1, session.record.step_samples, session.record.epoch_samples);
    if (at != Iteration{step.body.epoch, step.body.iteration}) {
      return fmt::format("step {} is recorded as iteration {} of epoch {}, and is iteration {} of epoch {}", step.body.step,
                         step.body.iteration, step.body.epoch, at.iteration, at.epoch);
    }
  }
  return "";
}

std::string Fault(const Telemetry& telemetry, const RunFacts& facts) {
  std::int64_t recorded = 0;
  for (const Session& session : telemetry.sessions) {
    const Session& first = telemetry.sessions.front();
    if (session.record.epoch_samples != first.record.epoch_samples ||
        session.record.step_samples != first.record.step_samples) {
      return "sessions differ in how many samples an epoch or a step has";
    }
    if (const std::string fault = FaultOf(session, recorded); !fault.empty()) return fault;
    recorded = session.record.first_step + static_cast<std::int64_t>(session.steps.size());
  }
  if (recorded > facts.steps) return fmt::format("step {} is recorded, and the job has {}", recorded, facts.steps);
  if (facts.finished && recorded < facts.steps) return fmt::format("step {} is missing", recorded + 1);
  return "";
}

}  // namespace

RuleResult IterationRule(const Telemetry& telemetry, const RunFacts& facts) {
  const auto steps = CountingSteps(telemetry);
  const auto count = static_cast<double>(steps.size()), wanted = static_cast<double>(facts.steps);
  if (const std::string fault = Fault(telemetry, facts); !fault.empty())
    return Judged("iterations", false, count, wanted, fault);
  const std::int64_t epochs = steps.empty() ? 0 : steps.rbegin()->second.epoch + 1;
  const std::string in = epochs == 1 ? ", in one epoch" : fmt::format(", in {} epochs", epochs);
  const std::string all = facts.finished ? "every iteration of the job once" : "every iteration so far once";
  if (facts.steps == 1)
    return Named("iterations", "one_iteration", RuleState::kAccepted, "the job has one iteration", count, wanted);
  if (telemetry.sessions.size() > 1) {
    return Named("iterations", "resumed", RuleState::kAccepted,
                 fmt::format("{}{}; taken up again {}", all, in,
                             telemetry.sessions.size() == 2 ? "once" : fmt::format("{} times", telemetry.sessions.size() - 1)),
                 count, wanted);
  }
  return Judged("iterations", true, count, wanted, all + in);
}

}  // namespace assay::monitor
