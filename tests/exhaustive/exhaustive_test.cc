// exhaustive_test [FUNCTION...]: checks the named functions, or all of them. Exit status 1 if a result is wrong.
#include "exhaustive/exhaustive.h"

#include <cstdio>
#include <string_view>
#include <thread>
#include <vector>

namespace assay::testkit {

void Findings::Part::Add(float x, double error) {
  ++arguments;
  if (error > 1.0) ++over_one_ulp;
  if (error > worst) {
    worst = error;
    worst_at = x;
  }
}

void Findings::Merge(const Part& part) {
  const std::lock_guard lock(mutex_);
  if (part.worst > total_.worst) {
    total_.worst = part.worst;
    total_.worst_at = part.worst_at;
  }
  if (total_.differing == 0) total_.differing_at = part.differing_at;
  total_.arguments += part.arguments;
  total_.over_one_ulp += part.over_one_ulp;
  total_.differing += part.differing;
}

bool Findings::Report(const char* function) const {
  const bool good = total_.over_one_ulp == 0 && total_.differing == 0;
  std::printf("%-6s %11lld arguments, largest error %.6f ulp at %a; over 1 ulp: %lld; bits that differ: %lld", function,
              static_cast<long long>(total_.arguments), total_.worst, static_cast<double>(total_.worst_at),
              static_cast<long long>(total_.over_one_ulp), static_cast<long long>(total_.differing));
  if (total_.differing != 0) std::printf(", first at %a", static_cast<double>(total_.differing_at));
  std::printf("%s\n", good ? "" : "  WRONG");
  std::fflush(stdout);
  return good;
}

}  // namespace assay::testkit

int main(int argc, char** argv) {
  using namespace assay;
  const std::vector<std::string_view> wanted(argv + 1, argv + argc);
  const auto wants = [&](std::string_view name) {
    return wanted.empty() || std::find(wanted.begin(), wanted.end(), name) != wanted.end();
  };
  ThreadPool pool(static_cast<int>(std::max(1u, std::thread::hardware_concurrency())));
  bool good = true;
  std::size_t checked = 0;
  for (const numerics::Truth& truth : numerics::kTruths) {
    if (!wants(truth.name)) continue;
    good = testkit::CheckAllArguments(truth, pool) && good;
    ++checked;
  }
  if (wants("pow")) {
    good = testkit::CheckPow(pool) && good;
    ++checked;
  }
  if (checked < std::max<std::size_t>(wanted.size(), 1)) {
    std::fprintf(stderr, "exhaustive_test: expected names of functions: exp log tanh erf sin cos rsqrt pow\n");
    return 2;
  }
  return good ? 0 : 1;
}
