#include "assay/client/follow.h"

#include <charconv>

#include "assay/life/wanted.h"

namespace assay::client {
namespace {

// The number of an entry by an event's id.
std::uint64_t NumberOf(const std::string& id) {
  std::uint64_t number = 0;
  std::from_chars(id.data(), id.data() + id.size(), number);
  return number;
}

class Follower {
 public:
  Follower(platform::ApiClient& api, LifeReader& reader, const RefereeTerms* referee, const FollowHooks& hooks)
      : api_(api), reader_(reader), referee_(referee), hooks_(hooks) {}

  Checked<void> Run() {
    for (;;) {
      ASSAY_TRY(reader_.Update());
      Tell();
      const life::Life& life = reader_.life();
      if (life.decision()) return {};
      if (referee_ != nullptr && IsRefereeOf(life, *referee_->key)) {
        Note("the runs differ: asking their workers which is right");
        ASSAY_ASSIGN(const std::string words, HoldDispute(api_, life, *referee_));
        if (!words.empty()) Note(words);
        continue;
      }
      if (!life.order().sealed.empty() && !life::WantedBy(life).dispute.empty()) {
        Note(fmt::format("the runs differ; {}, who sealed the order, has to referee it", life.order().client));
      }
      ASSAY_TRY(Wait());
    }
  }

 private:
  // Entries that have been believed since the last time.
  void Tell() {
    const auto& entries = reader_.checked().entries();
    for (; told_ < entries.size(); ++told_) {
      const auto entry = life::ParseEntry(entries[told_], "entry");
      if (entry && hooks_.on_entry) hooks_.on_entry(*entry, reader_.life());
    }
  }
  void Note(const std::string& text) {
    if (hooks_.on_note) hooks_.on_note(text);
  }

  // Until an event says that the life has grown, or the events break off.
  Checked<void> Wait() {
    const std::uint64_t size = reader_.checked().size();
    const auto take = [&](const ServerEvent& event) {
      if (event.type == "entry") return NumberOf(event.id) < size;
      if (event.type == "telemetry" && hooks_.on_telemetry) {
        const auto sample = platform::Json::parse(event.data, nullptr, false);
        if (sample.is_object()) hooks_.on_telemetry(sample);
      }
      return true;
    };
    const std::string last = size > 0 ? std::to_string(size - 1) : std::string();
    const auto ended = api_.Listen(fmt::format("/v1/orders/{}/events", reader_.checked().terms().id), last, take);
    if (ended) return {};
    if (api_.cancelled()) return tl::unexpected(Trouble(ended.error()));
    // Without events the life is asked for now and then; if that fails too, there is nobody to ask.
    api_.pause().Wait(std::chrono::milliseconds(1000));
    return {};
  }

  platform::ApiClient& api_;
  LifeReader& reader_;
  const RefereeTerms* referee_;
  const FollowHooks& hooks_;
  std::size_t told_ = 0;
};

}  // namespace

Checked<void> Follow(platform::ApiClient& api, LifeReader& reader, const RefereeTerms* referee, const FollowHooks& hooks) {
  return Follower(api, reader, referee, hooks).Run();
}

}  // namespace assay::client
