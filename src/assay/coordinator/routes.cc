#include "assay/coordinator/routes.h"

#include <optional>
#include <set>
#include <utility>

#include "assay/base/check.h"

namespace assay::coordinator {
namespace {

bool IsHole(std::string_view part) { return part.starts_with('{') && part.ends_with('}'); }

std::vector<std::string> PartsOf(std::string_view path) {
  ASSAY_CHECK(path.starts_with('/'));
  std::vector<std::string> parts;
  if (path == "/") return parts;  // as ParseTarget has it
  while (!path.empty()) {
    path.remove_prefix(1);
    const std::size_t end = path.find('/');
    parts.emplace_back(path.substr(0, end));
    path = end == std::string_view::npos ? std::string_view() : path.substr(end);
  }
  return parts;
}

std::optional<std::map<std::string, std::string, std::less<>>> Fit(const std::vector<std::string>& parts,
                                                                   const std::vector<std::string>& path) {
  if (parts.size() != path.size()) return std::nullopt;
  std::map<std::string, std::string, std::less<>> found;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    if (!IsHole(parts[i])) {
      if (parts[i] != path[i]) return std::nullopt;
    } else if (path[i].empty()) {
      return std::nullopt;
    } else {
      found.emplace(parts[i].substr(1, parts[i].size() - 2), path[i]);
    }
  }
  return found;
}

}  // namespace

void Routes::Add(Route route) {
  ASSAY_CHECK((route.answer != nullptr) + (route.later != nullptr) + (route.upload != nullptr) == 1);
  ASSAY_CHECK((route.upload != nullptr) == (route.body == Route::Body::kUpload));
  ASSAY_CHECK(!route.at_once || route.later != nullptr);
  parts_.push_back(PartsOf(route.path));
  rows_.push_back(std::make_unique<Route>(std::move(route)));
}

void Routes::AddSchema(const std::string& name, std::string_view json) {
  Json parsed = Json::parse(json, nullptr, false);
  ASSAY_CHECK(parsed.is_object());
  ASSAY_CHECK(schemas_.emplace(name, std::move(parsed)).second);
}

Outcome<Routes::Match> Routes::Find(std::string_view method, const Target& target) const {
  std::set<std::string> methods;
  for (std::size_t i = 0; i < rows_.size(); ++i) {
    auto path = Fit(parts_[i], target.path);
    if (!path) continue;
    if (rows_[i]->method == method) return Match{.route = rows_[i].get(), .path = *std::move(path)};
    methods.insert(rows_[i]->method);
  }
  if (methods.empty()) return NotFound("there is nothing at this path; see /openapi.json");
  std::string allowed;
  for (const std::string& one : methods) allowed += (allowed.empty() ? "" : ", ") + one;
  Failure failure{.status = 405, .code = "method", .error = "expected " + allowed};
  failure.headers.emplace_back("Allow", allowed);
  return tl::unexpected(std::move(failure));
}

}  // namespace assay::coordinator
