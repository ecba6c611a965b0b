#include "assay/cli/launch_timing.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>

namespace assay::cli {
namespace {

constexpr int kRepeats = 8, kTurns = 3;

double Now() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

}  // namespace

// 0 where launches cannot be recorded.
double LaunchTimer::BestSeconds(const std::function<void()>& launch) {
  const auto recording = backend_.Record([&] {
    for (int i = 0; i < kRepeats; ++i) launch();
  });
  if (!recording) return 0;
  double best = 1e9;
  for (int turn = 0; turn < kTurns; ++turn) {
    backend_.Wait();
    const double begin = Now();
    recording->Replay();
    backend_.Wait();
    best = std::min(best, Now() - begin);
  }
  return best / kRepeats;
}

LaunchTiming& LaunchTimer::Time(const std::string& what, StepPart part, double flops, double bytes,
                                const std::function<void()>& launch) {
  launch();  // for its result, and for the memory it may ask for
  LaunchTiming& timing = timings_[what];
  timing.what = what;
  timing.part = part;
  ++timing.launches;
  timing.flops += flops;
  timing.bytes += bytes;
  timing.seconds += BestSeconds(launch);
  return timing;
}

void LaunchTimer::Run(const KernelArgs& args) {
  std::string what(args.op->def->name);
  for (std::size_t k = 0; k < std::min<std::size_t>(args.op->in.size(), 2); ++k) {
    what += fmt::format(" {}", ToString(args.op->in[k].shape));
  }
  const Cost cost = args.op->def->cost(*args.op);
  const auto launch = [&] { backend_.Run(args); };
  LaunchTiming& timing = Time(what, PartOf(*args.op->def), cost.flops, cost.bytes, launch);
  if (!MakesDigits(*args.op) || !backend_.LeaveOutProducts(true)) return;
  timing.digit_seconds += BestSeconds(launch);
  backend_.LeaveOutProducts(false);
  launch();  // for its result
}

void LaunchTimer::RunGroup(const Group& group) {
  std::string what = "(";
  double flops = 0, bytes = 0;
  StepPart part = StepPart::kElementwise;
  for (const GroupNode& node : group.nodes) {
    what += fmt::format("{}{}", what.size() == 1 ? "" : " ", node.op->def->name);
    flops += node.op->def->cost(*node.op).flops;
    if (PartOf(*node.op->def) == StepPart::kOptimizer) part = StepPart::kOptimizer;
    for (std::size_t k = 0; k < node.in.size(); ++k) {
      if (node.in[k].slot == GroupArgument::kInMemory) bytes += static_cast<double>(node.op->in[k].bytes());
    }
    for (std::size_t k = 0; k < node.out.size(); ++k) {
      if (node.out[k].slot == GroupArgument::kInMemory) bytes += static_cast<double>(node.op->out[k].bytes());
    }
  }
  Time(fmt::format("{}) {}", what, group.elements), part, flops, bytes, [&] { backend_.RunGroup(group); });
}

std::vector<LaunchTiming> LaunchTimer::Timings() const {
  std::vector<LaunchTiming> timings;
  for (const auto& [what, timing] : timings_) timings.push_back(timing);
  std::ranges::sort(timings, std::greater(), &LaunchTiming::seconds);
  return timings;
}

}  // namespace assay::cli
