#include "assay/coordinator/mlflow_filter.h"

#include <gtest/gtest.h>

#include <map>

namespace assay::coordinator {
namespace {

using Of = MlflowField::Of;

std::optional<MlflowValue> Sample(const MlflowField& field) {
  if (field == MlflowField{Of::kMetric, "loss"}) return 0.5;
  if (field == MlflowField{Of::kMetric, "a b"}) return 3.0;
  if (field == MlflowField{Of::kParam, "model.kind"}) return "mlp";
  if (field == MlflowField{Of::kTag, "assay.verdict"}) return "verified";
  if (field == MlflowField{Of::kAttribute, "status"}) return "FINISHED";
  if (field == MlflowField{Of::kAttribute, "start_time"}) return 1000.0;
  return std::nullopt;
}

bool Holds(const char* text) {
  const auto filter = ParseMlflowFilter(text);
  EXPECT_TRUE(filter) << text << ": " << filter.error().error;
  return filter && Fits(*filter, Sample);
}

TEST(MlflowFilter, ChoosesAsItSays) {
  for (const char* holds :
       {"", "  ", "metrics.loss < 0.6", "metrics.loss<0.6 and params.model.kind = 'mlp'", "metric.loss >= 5e-1",
        "metrics.`a b` = 3", "metrics.\"a b\" != -3", "tags.`assay.verdict` = \"verified\"", "tags.assay.verdict LIKE 'ver%'",
        "tags.assay.verdict ILIKE '%IF_ed'", "status = 'FINISHED'", "attributes.status IN ('RUNNING', 'FINISHED')",
        "attribute.status not in ('FAILED')", "attributes.start_time > 999 AND attr.start_time <= 1000",
        "params.`model.kind` LIKE '%'"}) {
    EXPECT_TRUE(Holds(holds)) << holds;
  }
  for (const char* fails :
       {"metrics.loss > 0.6", "metrics.loss < 0.6 AND metrics.loss > 0.6", "metrics.other = 1", "metrics.other != 1",
        "params.model.kind = 'MLP'", "tags.assay.verdict LIKE 'VER%'", "status IN ('RUNNING')",
        "attributes.status NOT IN ('FINISHED')", "status = 7", "params.model.kind LIKE 'm_'"}) {
    EXPECT_FALSE(Holds(fails)) << fails;
  }
}

TEST(MlflowFilter, RefusesWhatItDoesNotUnderstand) {
  for (const char* wrong :
       {"metrics.loss", "metrics.loss <", "metrics.loss < x", "metrics.loss < 0.6 OR status = 'x'", "'a' = 'b'",
        "metrics.loss < 0.6 AND", "datasets.name = 'x'", "metrics. = 3", "status = 'x", "status IN 'x'", "status IN ()",
        "status IN ('x',)", "status IN ('x'", "status NOT LIKE 'x'", "a ; b", "metrics.loss = 1e", "=", "(", "not"}) {
    EXPECT_FALSE(ParseMlflowFilter(wrong)) << wrong;
  }
  EXPECT_FALSE(ParseMlflowFilter(std::string(5000, ' ')));
}

TEST(MlflowFilter, SortsAndPutsWhatLacksTheFieldLast) {
  const auto subject = [](std::map<std::string, double> metrics) {
    return [metrics](const MlflowField& field) -> std::optional<MlflowValue> {
      const auto found = metrics.find(field.key);
      return found == metrics.end() ? std::nullopt : std::optional<MlflowValue>(found->second);
    };
  };
  const auto a = subject({{"x", 1}, {"y", 2}}), b = subject({{"x", 1}, {"y", 3}}), c = subject({});
  const std::vector<MlflowOrdering> by = {*ParseMlflowOrdering("metrics.x"), *ParseMlflowOrdering("metrics.`y` DESC")};
  EXPECT_TRUE(Before(by, b, a));
  EXPECT_FALSE(Before(by, a, b));
  EXPECT_TRUE(Before(by, a, c));
  EXPECT_FALSE(Before(by, c, a));
  EXPECT_FALSE(Before(by, a, a));
  for (const char* wrong : {"", "metrics.x SIDEWAYS", "metrics.x ASC, y", "3", "x y z"})
    EXPECT_FALSE(ParseMlflowOrdering(wrong)) << wrong;
}

}  // namespace
}  // namespace assay::coordinator
