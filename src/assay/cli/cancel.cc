#include "assay/cli/command.h"
#include "assay/cli/json.h"
#include "assay/cli/platform_session.h"

namespace assay::cli {
namespace {

client::Checked<int> Cancel(const OrderOptions& options) {
  ASSAY_ASSIGN(Session session, OpenSession(options));
  ASSAY_ASSIGN(client::LifeTerms terms, TermsOf(session, options, options.id));
  client::LifeReader reader(*session.api, session.state, std::move(terms));
  ASSAY_TRY(session.api->Post(fmt::format("/v1/orders/{}/cancel", options.id), platform::Json::object()));
  ASSAY_TRY(reader.Update());
  if (!reader.life().cancelled())
    return client::Refused("order {}: is said to be cancelled, and its life does not say so", options.id);
  // A list of orders says only that it failed.
  ASSAY_TRY(session.state.RememberCancelled(options.id));
  if (options.json) {
    fmt::print("{}\n", Dump({{"id", options.id}, {"cancelled", true}}));
  } else {
    fmt::print("cancelled   {}\n", options.id);
  }
  return kExitOk;
}

Result<int> RunCancel(const OrderOptions& options) { return Concluded(Cancel(options), options.id, options.json); }

}  // namespace

void AddCancel(Arguments& app, Command& command) {
  auto options = std::make_shared<OrderOptions>();
  Subcommand sub = app.Add("cancel", "Cancel an order that is not decided");
  sub.Footer(
      "The order ends as failed. Cancelling it again is harmless. One that was decided otherwise stays as it is, which is\n"
      "an error here.\n"
      "\n"
      "Example: assay cancel 0123456789abcdef0123456789abcdef");
  AddOrderOptions(sub, *options);
  SetCommand(sub, std::move(options), command, RunCancel);
}

}  // namespace assay::cli
