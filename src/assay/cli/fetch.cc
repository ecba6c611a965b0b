#include "assay/base/file.h"
#include "assay/cli/command.h"
#include "assay/cli/order_watch.h"
#include "assay/client/delivery.h"

namespace assay::cli {
namespace {

struct FetchOptions : OrderOptions {
  std::string out;
};

void Print(const FetchOptions& options, const life::Life& life, bool delivered) {
  if (!options.json) {
    fmt::print("{}", OutcomeText(life));
    if (delivered) fmt::print("model       {}\n", JoinPath(options.out, "model.safetensors"));
    return;
  }
  OrderedJson json = OutcomeJson(life);
  json["model"] = delivered ? OrderedJson(JoinPath(options.out, "model.safetensors")) : OrderedJson(nullptr);
  fmt::print("{}\n", Dump(json));
}

client::Checked<int> Fetch(const FetchOptions& options, int& signal) {
  ASSAY_TRY(client::CheckPlace(options.out));
  ASSAY_ASSIGN(Session session, OpenSession(options));
  const StopOnSignal stop(*session.api);
  OrderView view(stderr, ProgressModeFor(stderr, options.quiet));
  const auto fetch = [&]() -> client::Checked<int> {
    const auto watched = WatchOrder(session, options, options.id, view);
    if (!watched) {
      view.Finish();
      if (stop.signal() != 0) SayOrderGoesOn(options.id);
      return tl::unexpected(watched.error());
    }
    const client::CheckedLife& checked = *watched;
    const life::Life& life = checked.life();
    const bool delivers = client::Delivers(life.decision()->verdict);
    if (delivers) {
      std::vector<Identity> identities;
      if (!life.order().sealed.empty()) {
        ASSAY_ASSIGN(identities, session.state.OpenIdentities());
      }
      ThreadPool pool(static_cast<int>(std::max(1U, std::thread::hardware_concurrency())));
      const auto progress = [&](std::uint64_t done, std::uint64_t total) {
        view.Transfer("download model", done, total, NowSeconds());
      };
      ASSAY_TRY(client::FetchDelivery(*session.api, checked, identities, options.out, pool, progress));
    }
    view.Finish();
    Print(options, life, delivers);
    return ExitStatusOf(life);
  };
  client::Checked<int> status = fetch();
  view.Finish();
  signal = stop.signal();
  return status;
}

Result<int> RunFetch(const FetchOptions& given) {
  FetchOptions options = given;
  while (options.out.size() > 1 && options.out.ends_with('/')) options.out.pop_back();
  int signal = 0;
  Result<int> status = Concluded(Fetch(options, signal), options.id, options.json);
  return signal != 0 ? 128 + signal : status;
}

}  // namespace

void AddFetch(Arguments& app, Command& command) {
  auto options = std::make_shared<FetchOptions>();
  Subcommand sub = app.Add("fetch", "Fetch the model of an order, once it and its verdict have been checked");
  sub.Footer(
      "Waits for the verdict, checks the life of the order as `assay watch` does, and the model against the receipt of the\n"
      "run that delivers it. Only then is the folder there, with the receipt, the life and the evidence beside the model, so\n"
      "that everything can be checked again without the coordinator. Nothing is written for an order that delivers nothing.\n"
      "An interrupted download goes on from DIR.part.\n"
      "\n"
      "Exit status: 0 verified or refereed, 1 withheld or failed, or what the coordinator says is not true, 3 undecided.\n"
      "\n"
      "Example: assay fetch 0123456789abcdef0123456789abcdef --out models/mine");
  sub.Option("--out", options->out, "Folder to make; never overwritten").Required().NotEmpty().Type("DIR");
  AddOrderOptions(sub, *options);
  SetCommand(sub, std::move(options), command, RunFetch);
}

}  // namespace assay::cli
