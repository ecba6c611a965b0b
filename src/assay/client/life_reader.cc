#include "assay/client/life_reader.h"

#include "assay/base/quote.h"
#include "assay/life/fields.h"
#include "assay/platform/transfer.h"

namespace assay::client {
namespace {

// A page may take this many entries more to come to its end than it says; a life grows while it is read, but not for ever.
constexpr int kMaxPages = 100'000;

}  // namespace

Checked<void> LifeReader::ReadEntries() {
  const std::string& id = checked_.terms().id;
  ASSAY_ASSIGN(const auto before, state_.CheckpointOf(id));
  std::vector<std::string> entries;
  for (int page = 0; page < kMaxPages; ++page) {
    const std::uint64_t from = checked_.size() + entries.size();
    ASSAY_ASSIGN(const platform::Json answer, api_.Get(fmt::format("/v1/orders/{}/life?from={}", id, from)));
    const std::vector<std::string> more = life::TextsOf(answer, "entries");
    const std::int64_t size = life::CountOf(answer, "size");
    entries.insert(entries.end(), more.begin(), more.end());
    const std::uint64_t have = checked_.size() + entries.size();
    if (size >= 0 && have < static_cast<std::uint64_t>(size)) {
      if (more.empty())
        return Refused("the life of order {}: is said to have {} entries, and no more than {} are handed out", id, size, have);
      continue;
    }
    const std::string note = life::TextOf(answer, "checkpoint");
    auto good = checked_.Continue(entries, note, before);
    if (!good) {
      // Whatever the coordinator signed that contradicts what it signed before is worth keeping.
      if (good.error().refused && !good.error().unwitnessed && before &&
          OpenCheckpoint(note, checked_.terms().coordinator, "checkpoint")) {
        std::vector<std::string> all = checked_.entries();
        all.insert(all.end(), entries.begin(), entries.end());
        const std::string kept = state_.KeepContradiction(id, note, all);
        if (!kept.empty()) good.error().message += fmt::format(" (what it signed is kept in {})", kept);
      }
      if (!good.error().refused && !good.error().stranger)
        good.error().message += fmt::format("; remove {} to begin anew", state_.OrderPath(id, "checkpoint"));
      return good;
    }
    ASSAY_TRY(state_.KeepCheckpoint(id, note, checked_.size(), checked_.terms().coordinator));
    return {};
  }
  return Refused("the life of order {}: has no end", id);
}

Checked<void> LifeReader::ReadEvidence() {
  for (const life::Judged& judged : checked_.Unproven()) {
    std::vector<Bytes> files;
    for (const std::string& name : judged.evidence) {
      ASSAY_ASSIGN(const Digest hash, Digest::FromHex(name));
      auto evidence = platform::FetchBlob(api_, hash, dispute::kMaxEvidenceBytes);
      if (!evidence) {
        const bool withheld = evidence.error().status == 404 || evidence.error().status == 403 ||
                              evidence.error().code == platform::kOtherContent;
        if (!withheld) return tl::unexpected(Trouble(evidence.error()));
        return Refused("the life of order {}: somebody is convicted by evidence {} that the coordinator does not hand out: {}",
                       checked_.terms().id, name, evidence.error().message);
      }
      files.push_back(*std::move(evidence));
    }
    ASSAY_TRY(checked_.Prove(std::move(files)));
  }
  return {};
}

Checked<void> LifeReader::Update() {
  ASSAY_TRY(ReadEntries());
  return ReadEvidence();
}

Checked<KnownCoordinator> KnowCoordinator(platform::ApiClient& api, const State& state, const std::optional<VerifyKey>& named) {
  ASSAY_ASSIGN(const platform::Json answer, api.Get("/v1/coordinator"));
  const auto said = VerifyKey::Parse(life::TextOf(answer, "key"));
  if (!said) return Refused("{}: what it gives as its key is not one: {}", api.server(), said.error().message);
  if (named) {
    if (*said != *named) return Refused("{}: has the key {}, expected {}", api.server(), said->ToString(), named->ToString());
    ASSAY_TRY(state.Pin(api.server(), *named));
    return KnownCoordinator{.key = *named};
  }
  ASSAY_ASSIGN(const auto pinned, state.PinOf(api.server()));
  if (!pinned) {
    ASSAY_TRY(state.Pin(api.server(), *said));
    return KnownCoordinator{.key = *said, .met = true};
  }
  if (*said != *pinned) {
    return Refused(
        "{}: has the key {}; it had {} at first contact. If its operator has confirmed the new key, name it with "
        "--coordinator",
        api.server(), said->ToString(), pinned->ToString());
  }
  return KnownCoordinator{.key = *pinned};
}

}  // namespace assay::client
