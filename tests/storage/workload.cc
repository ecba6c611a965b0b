#include "storage/workload.h"

#include <fcntl.h>
#include <spawn.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "assay/backend/ref/ref_backend.h"
#include "assay/base/check.h"
#include "assay/train/stepper.h"
#include "assay/train/trace.h"

namespace assay::storage {
namespace {

// STEPS, EVERY and NAME stand for what the variants differ in.
constexpr std::string_view kJob = R"(
name = "NAME"
steps = STEPS
seed = 3
[model]
kind = "mlp"
hidden = [4]
[data]
kind = "features"
features = 3
classes = 2
samples = 64
[batch]
microbatch = 4
[optimizer]
kind = "sgd"
momentum = 0.9
[schedule]
kind = "constant"
lr = 0.05
[eval]
every = 2
batches = 1
[commit]
every = 2
[snapshot]
every = EVERY
keep = 2
)";

struct Shape {
  const char *name, *steps, *every;
};
constexpr Shape kShapes[Workload::kVariants] = {
    {"storage", "5", "2"}, {"storage", "9", "2"}, {"storage", "4", "2"}, {"storage, reworded", "9", "4"}};

std::string JobText(const Shape& shape) {
  std::string text(kJob);
  const auto put = [&](std::string_view mark, std::string_view value) { text.replace(text.find(mark), mark.size(), value); };
  put("NAME", shape.name);
  put("STEPS", shape.steps);
  put("EVERY", shape.every);
  return text;
}

// A key that is the same in every run of the tests.
SigningKey TestKey() {
  ed25519::Seed seed{};
  std::fill(seed.begin(), seed.end(), std::uint8_t{0x5a});
  return SigningKey("storage", seed);
}

bool IsEvent(const std::string& file) { return file.starts_with("events/"); }

std::string TextOf(const std::string& path) {
  const auto bytes = ReadFile(path, 1 << 20);
  return bytes ? std::string(bytes->begin(), bytes->end()) : "";
}

template <class T>
T Must(Result<T> result) {
  if (!result) fmt::print(stderr, "{}\n", result.error().message);
  ASSAY_CHECK(result.has_value());
  return std::move(*result);
}

}  // namespace

Settings& TheSettings() {
  static Settings settings;
  return settings;
}

Files ReadFiles(const std::string& directory) {
  Files files;
  const auto names = ListTree(directory);
  if (!names) return files;
  for (const std::string& name : *names) files[name] = Must(ReadFile(JoinPath(directory, name), 1 << 24));
  return files;
}

void WriteFiles(const std::string& directory, const Files& files) {
  for (const auto& [name, content] : files) {
    const std::filesystem::path path = JoinPath(directory, name);
    std::filesystem::create_directories(path.parent_path());
    std::ofstream out(path, std::ios::binary);
    out.write(reinterpret_cast<const char*>(content.data()), static_cast<std::streamsize>(content.size()));
    ASSAY_CHECK(out.good());
  }
}

void Empty(const std::string& directory) {
  std::filesystem::remove_all(directory);
  std::filesystem::create_directories(directory);
}

Workload::Workload() : backend_(ref::MakeRefBackend(pool_)), key_(TestKey()), key_file_(scratch_ / "key") {
  ASSAY_CHECK(WriteKeyFiles(key_file_, key_).has_value());
  for (const Shape& shape : kShapes) {
    const std::string text = JobText(shape), file = scratch_ / fmt::format("{}.toml", variants_.size());
    ASSAY_CHECK(WriteFileAtomic(file, AsBytes(text)).has_value());
    variants_.push_back({.job_file = file, .prepared = Must(Prepare(Must(ParseJob(text, file)))), .reference = {}});
    const std::string run = scratch_ / fmt::format("reference-{}", variants_.size());
    Must(Train(variants_.size() - 1, run));
    Files files = ReadFiles(run);
    std::erase_if(files, [](const auto& file_and_content) { return IsEvent(file_and_content.first); });
    variants_.back().reference = std::move(files);
  }
}

Result<TrainOutcome> Workload::Train(std::size_t which, const std::string& run) {
  const PreparedJob& prepared = variants_[which].prepared;
  ASSAY_ASSIGN(RunDirectory directory, RunDirectory::OpenForTraining(run, ContentOf(prepared), key_.verify_key()));
  return assay::Train(prepared, directory, key_, *backend_, pool_, {});
}

Ended Workload::Spawn(std::size_t which, const std::string& run, const std::vector<std::string>& environment) {
  const std::string out = scratch_ / "out", error = scratch_ / "error";
  std::vector<std::string> words = {
      ASSAY_BINARY, "train", variants_[which].job_file, "--out",   run,     "--key", key_file_, "--simd", "ref",
      "--threads",  "1",     "--no-telemetry",          "--quiet", "--json"};
  std::vector<std::string> variables = environment;
  variables.push_back("HOME=" + scratch_.path());
  if (!environment.empty()) variables.push_back("LD_PRELOAD=" ASSAY_INTERPOSE);
  const auto pointers = [](std::vector<std::string>& texts) {
    std::vector<char*> list;
    for (std::string& text : texts) list.push_back(text.data());
    list.push_back(nullptr);
    return list;
  };
  posix_spawn_file_actions_t actions;
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
  ::posix_spawn_file_actions_addopen(&actions, 1, out.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
  ::posix_spawn_file_actions_addopen(&actions, 2, error.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
  pid_t child = 0;
  ASSAY_CHECK(::posix_spawn(&child, ASSAY_BINARY, &actions, nullptr, pointers(words).data(), pointers(variables).data()) == 0);
  ::posix_spawn_file_actions_destroy(&actions);
  Ended ended;
  ASSAY_CHECK(::waitpid(child, &ended.status, 0) == child);
  ended.out = TextOf(out);
  ended.error = TextOf(error);
  return ended;
}

Status Workload::Trace(std::size_t which, const std::string& run, std::int64_t step) {
  ASSAY_ASSIGN(const RunDirectory directory, RunDirectory::Open(run));
  Stepper stepper(variants_[which].prepared, *backend_);
  ASSAY_ASSIGN(State state, StartingState(variants_[which].prepared));
  for (std::int64_t s = 0; s + 1 < step; ++s) stepper.Run(state, stepper.Plan(s));
  const Bytes trace = SignTrace(TraceStep(stepper, state, step - 1), key_);
  ASSAY_TRY(MakeDirectories(JoinPath(run, "traces")));
  return WriteFileAtomic(directory.TracePath(step), trace);
}

Result<FsckReport> Workload::Check(const std::string& run) { return Fsck(run, pool_, SummarizeTrace); }

std::string Workload::Completes(std::size_t which, const std::string& run) {
  const auto outcome = Train(which, run);
  if (!outcome) return "training does not go on: " + outcome.error().message;
  const auto report = Check(run);
  if (!report || report->verdict != FsckVerdict::kWhole || !report->findings.empty())
    return "after going on: " + Describe(report);
  for (const auto& [file, content] : variants_[which].reference) {
    if (file.starts_with("snapshots/"))
      continue;  // which name the job that they were taken in; Fsck has compared them with the rest
    const auto found = ReadFile(JoinPath(run, file), 1 << 24);
    if (!found || *found != content) return "after going on: " + file + " is not that of the uninterrupted training";
  }
  return "";
}

std::string Workload::IsSomeReference(const std::string& run) const {
  const Files files = ReadFiles(run);
  std::string differs;
  for (const Variant& variant : variants_) {
    differs.clear();
    for (const auto& [file, content] : variant.reference) {
      const auto found = files.find(file);
      if (file.starts_with("snapshots/") || file == "lock" || (found != files.end() && found->second == content)) continue;
      differs = file;
    }
    if (differs.empty()) return "";
  }
  return "it is none of the runs that it could be, for one in " + differs;
}

std::string Describe(const Result<FsckReport>& report) {
  if (!report) return report.error().message;
  std::string text(Name(report->verdict));
  for (const Finding& finding : report->findings) text += fmt::format("; {}: {}", finding.file, finding.problem);
  return text;
}

}  // namespace assay::storage
