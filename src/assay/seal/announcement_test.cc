#include "assay/seal/announcement.h"

#include <gtest/gtest.h>

#include "assay/merkle/sha256.h"
#include "assay/sign/dsse.h"
#include "support/seal_trial.h"

namespace assay::seal {
namespace {

constexpr std::string_view kType = "application/vnd.assay.recipient+json";
constexpr std::string_view kRecipient = "age1zvkyg2lqzraa2lnjvqej32nkuu0ues2s82hzrye869xeexvn73equnujwj";

const SigningKey& Signer() {
  static const SigningKey kKey("example.org/worker", HashBytes(AsBytes("worker")).bytes);
  return kKey;
}
Announcement Said() {
  return {.recipient = *Recipient::Parse(kRecipient), .purpose = SealPurpose::kAuditor, .made = 1700000000};
}
Result<Announcement> Open(std::string_view envelope) { return OpenAnnouncement(envelope, Signer().verify_key(), "a.json"); }
std::string Refused(std::string_view payload) { return ErrorOf(Open(SignEnvelope(kType, payload, Signer()))); }

TEST(Announcements, AreWhatWasSigned) {
  for (const SealPurpose purpose : {SealPurpose::kWorker, SealPurpose::kAuditor}) {
    for (const std::uint64_t made : {std::uint64_t{0}, std::uint64_t{1700000000}, (std::uint64_t{1} << 53) - 1}) {
      const Announcement said{.recipient = Said().recipient, .purpose = purpose, .made = made};
      const auto opened = Open(SignAnnouncement(said, Signer()));
      ASSERT_TRUE(opened) << opened.error().message;
      EXPECT_EQ(*opened, said);
    }
  }
}

TEST(Announcements, HaveOneForm) {
  const std::string payload = fmt::format(R"({{"recipient":"{}","purpose":"auditor","made":1700000000}})", kRecipient);
  EXPECT_EQ(SignAnnouncement(Said(), Signer()), SignEnvelope(kType, payload, Signer()));
  EXPECT_EQ(Refused(payload), "no error");
  const std::string form = "a.json: is not in the form of an announcement (docs/formats/sealed.md)";
  EXPECT_EQ(Refused(""), form);
  EXPECT_EQ(Refused("{}"), form);
  EXPECT_EQ(Refused(payload + "\n"), form);
  EXPECT_EQ(Refused(fmt::format(R"({{"purpose":"auditor","recipient":"{}","made":1}})", kRecipient)), form);
  EXPECT_EQ(Refused(fmt::format(R"({{"recipient":"{}","purpose":"client","made":1}})", kRecipient)),
            "a.json: purpose is 'client', expected worker or auditor");
  for (const std::string_view made :
       {"", "-1", "01", "1.0", "1e3", "9007199254740992", "99999999999999999999", " 1", "\"1\""}) {
    EXPECT_EQ(
        Refused(fmt::format(R"({{"recipient":"{}","purpose":"worker","made":{}}})", kRecipient, made)).find("a.json: made is "),
        0u)
        << made;
  }
  EXPECT_EQ(Refused(R"({"recipient":"age1x","purpose":"worker","made":1})"),
            "a.json: recipient: expected a recipient age1..., got 'age1x': it ends before its checksum");
}

TEST(Announcements, OfOthersAreRefused) {
  const SigningKey other("example.org/worker", HashBytes(AsBytes("other")).bytes);
  EXPECT_FALSE(Open(SignAnnouncement(Said(), other)));
  // The same words as another kind of statement.
  EXPECT_FALSE(Open(SignEnvelope("application/json",
                                 fmt::format(R"({{"recipient":"{}","purpose":"auditor","made":1}})", kRecipient), Signer())));
}

TEST(Announcements, EveryAlteredBitIsRefused) {
  const std::string envelope = SignAnnouncement(Said(), Signer());
  for (std::size_t bit = 0; bit < 8 * envelope.size(); ++bit) {
    std::string other = envelope;
    other[bit / 8] = static_cast<char>(other[bit / 8] ^ 1 << bit % 8);
    EXPECT_FALSE(Open(other)) << bit;
  }
}

}  // namespace
}  // namespace assay::seal
