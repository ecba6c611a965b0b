#include "assay/seal/announcement.h"

#include <charconv>
#include <optional>

#include "assay/base/check.h"
#include "assay/base/quote.h"
#include "assay/sign/dsse.h"

namespace assay {
namespace {

constexpr std::string_view kPayloadType = "application/vnd.assay.recipient+json";
constexpr std::uint64_t kLatest = (std::uint64_t{1} << 53) - 1;  // every reader of JSON has it exactly

std::string ToJson(const Announcement& announcement) {
  // Nothing here needs escaping.
  return fmt::format(R"({{"recipient":"{}","purpose":"{}","made":{}}})", announcement.recipient.ToString(),
                     ToString(announcement.purpose), announcement.made);
}

// What stands between `before` and `after`, which are taken off with it; none where they are not there.
std::optional<std::string_view> Between(std::string_view& text, std::string_view before, std::string_view after) {
  if (!text.starts_with(before)) return std::nullopt;
  const std::size_t end = text.find(after, before.size());
  if (end == std::string_view::npos) return std::nullopt;
  const std::string_view found = text.substr(before.size(), end - before.size());
  text.remove_prefix(end + after.size());
  return found;
}

std::optional<SealPurpose> PurposeOf(std::string_view text) {
  for (const SealPurpose purpose : {SealPurpose::kWorker, SealPurpose::kAuditor}) {
    if (text == ToString(purpose)) return purpose;
  }
  return std::nullopt;
}

Result<Announcement> Parse(std::string_view payload, std::string_view what) {
  std::string_view rest = payload;
  const auto recipient = Between(rest, R"({"recipient":")", "\"");
  const auto purpose = Between(rest, R"(,"purpose":")", "\"");
  const auto made = Between(rest, R"(,"made":)", "}");
  if (!recipient || !purpose || !made || !rest.empty()) {
    return Err("{}: is not in the form of an announcement (docs/formats/sealed.md)", what);
  }
  const auto key = Recipient::Parse(*recipient);
  if (!key) return Err("{}: recipient: {}", what, key.error().message);
  const auto known = PurposeOf(*purpose);
  if (!known) return Err("{}: purpose is {}, expected worker or auditor", what, Quote(*purpose));
  Announcement announcement{.recipient = *key, .purpose = *known};
  std::from_chars(made->data(), made->data() + made->size(), announcement.made);
  if (announcement.made > kLatest || ToJson(announcement) != payload) {
    return Err("{}: made is {}, expected seconds since 1970 in decimal", what, Quote(*made));
  }
  return announcement;
}

}  // namespace

std::string_view ToString(SealPurpose purpose) { return purpose == SealPurpose::kWorker ? "worker" : "auditor"; }

std::string SignAnnouncement(const Announcement& announcement, const SigningKey& key) {
  ASSAY_CHECK(announcement.made <= kLatest);
  return SignEnvelope(kPayloadType, ToJson(announcement), key);
}

Result<Announcement> OpenAnnouncement(std::string_view envelope, const VerifyKey& key, std::string_view what) {
  ASSAY_ASSIGN(const std::string payload, OpenEnvelope(envelope, kPayloadType, key, what));
  return Parse(payload, what);
}

}  // namespace assay
