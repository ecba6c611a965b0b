#include "assay/tracking/job_params.h"

namespace assay::tracking {
namespace {

// As TOML writes text that has nothing to escape; anything else stays as it is.
std::string Unquoted(const std::string& value) {
  if (value.size() < 2 || value.front() != '"' || value.back() != '"' || value.find('\\') != std::string::npos) return value;
  return value.substr(1, value.size() - 2);
}

}  // namespace

Params ParamsOf(const Job& job) {
  Params params;
  for (const JobSetting& setting : JobSettings(job)) {
    if (setting.name == "name" || setting.name.ends_with(".path")) continue;
    params.emplace_back(setting.name, Unquoted(setting.value));
  }
  return params;
}

}  // namespace assay::tracking
