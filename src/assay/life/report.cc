#include "assay/life/report.h"

#include "assay/life/fields.h"
#include "assay/life/names.h"
#include "assay/sign/dsse.h"

namespace assay::life {
namespace {

constexpr std::string_view kPayloadType = "application/vnd.assay.audit+json";
constexpr Names<Finding, 4> kFindings{{"verified", "refuted", "unchecked", "damaged"}};

std::string ToPayload(const Report& report) {
  return Compact({{"order", report.order},
                  {"lease", report.lease},
                  {"receipt", report.receipt.hex()},
                  {"nonce", report.nonce},
                  {"share", report.share},
                  {"percent", report.percent},
                  {"verdict", Name(report.finding)},
                  {"steps", report.steps},
                  {"sample", report.sample},
                  {"words", report.words}});
}

}  // namespace

std::string_view Name(Finding finding) { return kFindings.Of(finding); }

std::string SignReport(const Report& report, const SigningKey& key) {
  return SignEnvelope(kPayloadType, ToPayload(report), key);
}

Result<Report> OpenReport(std::string_view envelope, const VerifyKey& key, std::string_view what) {
  ASSAY_ASSIGN(const std::string payload, OpenEnvelope(envelope, kPayloadType, key, what));
  const Json in = ParseObject(payload);
  const Report report{.order = TextOf(in, "order"),
                      .lease = CountOf(in, "lease"),
                      .receipt = HashOf(in, "receipt"),
                      .nonce = TextOf(in, "nonce"),
                      .share = TextOf(in, "share"),
                      .percent = CountOf(in, "percent"),
                      .finding = kFindings.Find(TextOf(in, "verdict")),
                      .steps = CountOf(in, "steps"),
                      .sample = TextOf(in, "sample"),
                      .words = TextOf(in, "words")};
  if (ToPayload(report) != payload) return Err("{}: is not in the form of an audit's report (docs/formats/life.md)", what);
  return report;
}

}  // namespace assay::life
