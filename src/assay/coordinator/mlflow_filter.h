// The expressions by which MLflow's clients choose and sort runs: "metrics.loss < 0.5 AND tags.`assay.verdict` = 'verified'", "attributes.start_time DESC". Pure
// functions of text that may be anything.
//
// Comparisons are joined by AND. What is compared is an attribute, a metric, a parameter or a tag; numbers by = != < <= > >=, text by = != LIKE ILIKE IN NOT IN.
// Something that a run does not have fits nothing.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "assay/coordinator/answer.h"

namespace assay::coordinator {

struct MlflowField {
  enum class Of : std::uint8_t { kAttribute, kMetric, kParam, kTag } of = Of::kAttribute;
  std::string key{};
  friend bool operator==(const MlflowField&, const MlflowField&) = default;
};
using MlflowValue = std::variant<double, std::string>;
// What a run, or an experiment, has under that name.
using MlflowSubject = std::function<std::optional<MlflowValue>(const MlflowField& field)>;

struct MlflowComparison {
  enum class Op : std::uint8_t { kEqual, kUnequal, kLess, kAtMost, kGreater, kAtLeast, kLike, kLikeAnyCase, kIn, kNotIn };
  MlflowField field{};
  Op op = Op::kEqual;
  std::vector<MlflowValue> values{};  // one, but for kIn and kNotIn
};

// Empty text: no comparisons.
Outcome<std::vector<MlflowComparison>> ParseMlflowFilter(std::string_view text);
bool Fits(const std::vector<MlflowComparison>& filter, const MlflowSubject& subject);

struct MlflowOrdering {
  MlflowField field{};
  bool descending = false;
};
Outcome<MlflowOrdering> ParseMlflowOrdering(std::string_view text);
// Whether a comes before b; what lacks the field comes last.
bool Before(const std::vector<MlflowOrdering>& by, const MlflowSubject& a, const MlflowSubject& b);

}  // namespace assay::coordinator
