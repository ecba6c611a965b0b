#include "assay/cli/command.h"
#include "assay/cli/order_watch.h"

namespace assay::cli {
namespace {

client::Checked<int> Watch(const OrderOptions& options, int& signal) {
  ASSAY_ASSIGN(Session session, OpenSession(options));
  const StopOnSignal stop(*session.api);
  OrderView view(stderr, ProgressModeFor(stderr, options.quiet));
  const auto checked = WatchOrder(session, options, options.id, view);
  view.Finish();
  signal = stop.signal();
  if (!checked) {
    if (signal != 0) SayOrderGoesOn(options.id);
    return tl::unexpected(checked.error());
  }
  PrintOutcome(checked->life(), options.json);
  return ExitStatusOf(checked->life());
}

Result<int> RunWatch(const OrderOptions& options) {
  int signal = 0;
  Result<int> status = Concluded(Watch(options, signal), options.id, options.json);
  return signal != 0 ? 128 + signal : status;
}

}  // namespace

void AddWatch(Arguments& app, Command& command) {
  auto options = std::make_shared<OrderOptions>();
  Subcommand sub = app.Add("watch", "Watch an order until it is decided, and check every step of its life");
  sub.Footer(
      "Shows what happens to the order while it happens. What counts is its life, a log that the coordinator signs: every\n"
      "entry has to follow from those before, nothing that was shown before may change, and evidence is judged again here.\n"
      "Of a sealed order of yours, disputes are held here. Ctrl-C stops watching, not the order.\n"
      "\n"
      "Exit status: 0 verified or refereed, 1 withheld or failed, or what the coordinator says is not true, 3 undecided.\n"
      "\n"
      "Example: assay watch 0123456789abcdef0123456789abcdef");
  AddOrderOptions(sub, *options);
  SetCommand(sub, std::move(options), command, RunWatch);
}

}  // namespace assay::cli
