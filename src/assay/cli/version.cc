#include <fmt/ranges.h>

#include "assay/cli/backend.h"
#include "assay/cli/command.h"

namespace assay::cli {
namespace {

struct VersionOptions {};

Result<int> RunVersion(const VersionOptions&) {
#ifdef NDEBUG
  constexpr const char* kBuild = "release";
#else
  constexpr const char* kBuild = "debug";
#endif
  fmt::print("assay {} ({} build, compiler {})\n", ASSAY_VERSION, kBuild, __VERSION__);
  fmt::print("kernels: {}\n", fmt::join(AvailableSimd(), ", "));
  return kExitOk;
}

}  // namespace

void AddVersion(Arguments& app, Command& command) {
  Subcommand sub = app.Add("version", "The version, and the kernels that run on this machine");
  SetCommand(sub, std::make_shared<VersionOptions>(), command, RunVersion);
}

}  // namespace assay::cli
