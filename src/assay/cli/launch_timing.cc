#include "assay/cli/launch_timing.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>

namespace assay::cli {
namespace {

constexpr int kRepeats = 8;

double Now() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

}  // namespace

void LaunchTimer::Time(const std::string& what, double flops, double bytes, const std::function<void()>& launch) {
  launch();  // for its result, and for the memory it may ask for
  LaunchTiming& timing = timings_[what];
  timing.what = what;
  ++timing.launches;
  timing.flops += flops;
  timing.bytes += bytes;
  const auto recording = backend_.Record([&] {
    for (int i = 0; i < kRepeats; ++i) launch();
  });
  if (!recording) return;
  double best = 1e9;
  for (int turn = 0; turn < 2; ++turn) {
    backend_.Wait();
    const double begin = Now();
    recording->Replay();
    backend_.Wait();
    best = std::min(best, Now() - begin);
  }
  timing.seconds += best / kRepeats;
}

void LaunchTimer::Run(const KernelArgs& args) {
  std::string what(args.op->def->name);
  for (std::size_t k = 0; k < std::min<std::size_t>(args.op->in.size(), 2); ++k) {
    what += fmt::format(" {}", ToString(args.op->in[k].shape));
  }
  const Cost cost = args.op->def->cost(*args.op);
  Time(what, cost.flops, cost.bytes, [&] { backend_.Run(args); });
}

void LaunchTimer::RunGroup(const Group& group) {
  std::string what = "(";
  double flops = 0, bytes = 0;
  for (const GroupNode& node : group.nodes) {
    what += fmt::format("{}{}", what.size() == 1 ? "" : " ", node.op->def->name);
    flops += node.op->def->cost(*node.op).flops;
    for (std::size_t k = 0; k < node.in.size(); ++k) {
      if (node.in[k].slot == GroupArgument::kInMemory) bytes += static_cast<double>(node.op->in[k].bytes());
    }
    for (std::size_t k = 0; k < node.out.size(); ++k) {
      if (node.out[k].slot == GroupArgument::kInMemory) bytes += static_cast<double>(node.op->out[k].bytes());
    }
  }
  Time(fmt::format("{}) {}", what, group.elements), flops, bytes, [&] { backend_.RunGroup(group); });
}

std::vector<LaunchTiming> LaunchTimer::Timings() const {
  std::vector<LaunchTiming> timings;
  for (const auto& [what, timing] : timings_) timings.push_back(timing);
  std::ranges::sort(timings, std::greater(), &LaunchTiming::seconds);
  return timings;
}

}  // namespace assay::cli
