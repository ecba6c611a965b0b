#include "assay/cli/order_watch.h"

#include <fmt/format.h>

#include <chrono>
#include <functional>
#include <mutex>
#include <thread>

#include "assay/cli/signer.h"
#include "assay/client/follow.h"

namespace assay::cli {

double NowSeconds() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

namespace {

// Calls a function twice a second, from a thread of its own, for as long as it lives.
class Ticker {
 public:
  explicit Ticker(std::function<void()> tick)
      : thread_([this, tick = std::move(tick)] {
          while (pause_.Wait(std::chrono::milliseconds(500))) tick();
        }) {}
  ~Ticker() {
    pause_.Cancel();
    thread_.join();
  }
  Ticker(const Ticker&) = delete;
  Ticker& operator=(const Ticker&) = delete;

 private:
  platform::Pause pause_;
  std::thread thread_;
};

}  // namespace

client::Checked<client::CheckedLife> WatchOrder(Session& session, const PlatformOptions& options, const std::string& id,
                                                OrderView& view) {
  ASSAY_ASSIGN(client::LifeTerms terms, TermsOf(session, options, id));
  std::optional<SigningKey> key;
  client::RefereeTerms referee{.start = terms.start};
  std::mutex turn;  // of what is shown: disputes tell from several threads
  const auto show = [&](const std::string& text) {
    const std::lock_guard lock(turn);
    if (!options.quiet) view.Note(text);
  };
  client::LifeReader reader(*session.api, session.state, std::move(terms));
  ASSAY_TRY(reader.Update());
  const bool sealed = !reader.life().order().sealed.empty();
  // Whoever has no key has not signed the order, and its disputes are somebody else's to hold.
  if (sealed) {
    ASSAY_ASSIGN(key, OpenSignerIfAny(options.key));
  }
  if (key) {
    ASSAY_ASSIGN(std::vector<Identity> identities, session.state.OpenIdentities());
    referee.identities = std::make_shared<const std::vector<Identity>>(std::move(identities));
    referee.key = &*key;
    referee.waiting = [&](const std::string& name, const std::string& why) {
      show(fmt::format("waiting for {}: {}", name, why));
    };
  }
  const client::FollowHooks hooks{.on_entry =
                                      [&](const life::Entry& entry, const life::Life& life) {
                                        const std::lock_guard lock(turn);
                                        view.Entry(entry, life, NowSeconds());
                                      },
                                  .on_telemetry =
                                      [&](const platform::Json& sample) {
                                        const std::lock_guard lock(turn);
                                        view.Sample(sample, NowSeconds());
                                      },
                                  .on_note = show};
  const Ticker ticker([&] {
    const std::lock_guard lock(turn);
    view.Tick(NowSeconds());
  });
  ASSAY_TRY(client::Follow(*session.api, reader, key ? &referee : nullptr, hooks));
  return reader.checked();
}

void PrintOutcome(const life::Life& life, bool json) {
  if (json) {
    fmt::print("{}\n", Dump(OutcomeJson(life)));
  } else {
    fmt::print("{}", OutcomeText(life));
  }
  std::fflush(stdout);
}

}  // namespace assay::cli
