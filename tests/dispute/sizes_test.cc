// Answers whose size grows with the job: batches of many images, nodes that read every trained tensor, long samples. The honest party's true answer fits, and the liar is convicted.
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <random>

#include "assay/data/cifar.h"
#include "assay/dispute/limits.h"
#include "jobs_for_test.h"
#include "play.h"

namespace assay::dispute {
namespace {

constexpr unsigned kSeed = 20261116;

class TemporaryFile {
 public:
  TemporaryFile(std::string_view name, const Bytes& bytes)
      : path_(std::filesystem::temp_directory_path() / fmt::format("assay-{}-{}", getpid(), name)) {
    std::ofstream(path_, std::ios::binary)
        .write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
  }
  ~TemporaryFile() { std::filesystem::remove(path_); }
  std::string path() const { return path_.string(); }

 private:
  std::filesystem::path path_;
};

// Records in the form of CIFAR-10's, of random pixels.
Bytes RandomRecords(std::size_t count) {
  std::mt19937 random(kSeed);
  Bytes bytes(count * kCifarRecord);
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    bytes[i] = static_cast<std::uint8_t>(i % kCifarRecord == 0 ? random() % kCifarClasses : random());
  }
  return bytes;
}

struct Parties {
  Parties(const std::string& job, Lies lies)
      : prepared(PreparedFrom(job)),
        honest(prepared, SigningKey("honest", {1}), {}),
        liar(prepared, SigningKey("liar", {2}), std::move(lies)) {}
  PreparedJob prepared;
  MemoryRun honest, liar;
};

// What the dispute finds, with the liar on either side of the table: it is guilty, and nobody else.
Finding Convicts(Parties& parties) {
  Finding found;
  for (const bool swapped : {false, true}) {
    MemoryRun& first = swapped ? parties.liar : parties.honest;
    MemoryRun& second = swapped ? parties.honest : parties.liar;
    const Played played = Play(
        parties.honest.terms(), *OpenClaim(first.receipt(), "receipt"), *OpenClaim(second.receipt(), "receipt"),
        [&](const Question& question) { return first.Answer(question); },
        [&](const Question& question) { return second.Answer(question); });
    const Finding* finding = played.finding();
    EXPECT_NE(finding, nullptr) << played.outcome.next.index() << " after " << played.rounds
                                << " rounds: " << played.outcome.progress.interval;
    if (finding == nullptr) return Finding{};
    EXPECT_TRUE(finding->guilty[swapped ? 0 : 1]) << finding->reason;
    EXPECT_FALSE(finding->guilty[swapped ? 1 : 0]) << "the honest party was convicted: " << finding->reason;
    found = *finding;
  }
  return found;
}

// Every leaf of every tree of a run, one at a time and some together: the answer is as long as the job says.
void ExpectSizes(const std::string& job) {
  const PreparedJob prepared = PreparedFrom(job);
  MemoryRun run(prepared, SigningKey("honest", {1}), {});
  const Terms& terms = run.terms();
  std::size_t questions = 0;
  const auto check = [&](const Question& question) {
    const auto body = run.Answer(question);
    ASSERT_TRUE(body) << body.error().message;
    const std::size_t expected = TrueBodyBytes(terms, question);
    const bool at_most = std::holds_alternative<SamplesQuestion>(question) || std::holds_alternative<PartsQuestion>(question);
    EXPECT_TRUE(at_most ? body->size() <= expected : body->size() == expected)
        << Describe(question) << ": " << body->size() << " bytes, expected " << expected;
    EXPECT_LE(body->size(), MaxBodyBytes(terms, question)) << Describe(question);
    const SigningKey key("honest", {1});
    const Bytes answer = Encode(Sign(Encode(Digest{}, question), *body, key));
    EXPECT_LE(answer.size(), MaxAnswerBytes(terms, question)) << Describe(question);
    ++questions;
  };
  const auto tree = [&](const TreeName& name) {
    const std::uint64_t size = *terms.TreeSize(name);
    check(ExpandQuestion{name, {0, size}});
    for (std::uint64_t i = 0; i < size; ++i) check(LeavesQuestion{name, {{i, i + 1}}});
    if (size >= 4) check(LeavesQuestion{name, {{0, 2}, {size - 1, size}}});
  };
  const std::int64_t step = prepared.job.steps;
  tree({.kind = TreeKind::kLog});
  tree({.kind = TreeKind::kBatches, .at = 1});
  tree({.kind = TreeKind::kStates, .at = 1});
  tree({.kind = TreeKind::kTrace, .at = step});
  tree({.kind = TreeKind::kState, .at = step});
  tree({.kind = TreeKind::kBatch, .at = step});
  check(CommitQuestion{{.kind = TreeKind::kTrace, .at = step}});
  const auto rows = static_cast<std::uint64_t>(terms.fields()[0].type.shape[0]);
  for (const std::uint64_t row : {std::uint64_t{0}, rows - 1})
    check(SamplesQuestion{.step = step, .begin = row, .end = row + 1});
  for (std::uint32_t i = 0; i < terms.program().state.size(); ++i) tree({.kind = TreeKind::kStateTensor, .at = 0, .index = i});
  for (std::uint32_t i = 0; i < terms.fields().size(); ++i) tree({.kind = TreeKind::kBatchField, .at = step, .index = i});
  for (std::uint32_t n = 0; n < terms.nodes().size(); ++n) {
    const OpInstance op = terms.nodes().Instance(n);
    for (std::uint32_t k = 0; k < op.in.size(); ++k) tree({TreeKind::kInput, step, n, k});
    for (std::uint32_t k = 0; k < op.out.size(); ++k) tree({TreeKind::kOutput, step, n, k});
    if (ref::Derive(op, 0, 0) != nullptr) check(PartsQuestion{.step = step, .node = n});
  }
  fmt::print("{} nodes, {} questions\n", terms.nodes().size(), questions);
}

std::string CifarJob(const std::string& path, std::int64_t microbatch) {
  return fmt::format(
      "steps = 1\nseed = 11\n[commit]\nevery = 1\n[model]\nkind = \"resnet\"\ndepth = 18\nwidth = 1\n[data]\nkind = "
      "\"cifar10\"\npath = \"{}\"\nvalidation = 0.0\n[batch]\nmicrobatch = "
      "{}\n[optimizer]\nkind = \"sgd\"\n",
      path, microbatch);
}

TEST(Sizes, AnswersAreAsLongAsTheJobSays) {
  ExpectSizes(MlpJob(4, 2, 3));
  ExpectSizes(Gpt2Job());
  ExpectSizes(LlamaJob());
  ExpectSizes(ResNetJob());
}

TEST(Sizes, LabelsOfABatchOfManyImages) {
  const TemporaryFile records("records.bin", RandomRecords(400));
  Parties parties(CifarJob(records.path(), 300), {.batch =
                                                      [](std::int64_t, std::int64_t, std::span<Tensor> fields) {
                                                        for (Tensor& field : fields) {
                                                          if (field.dtype() == DType::kI32)
                                                            field.Span<std::int32_t>()[217] ^= 1;
                                                        }
                                                      },
                                                  .admits_batches = true});
  const Finding finding = Convicts(parties);
  EXPECT_EQ(finding.cause, Cause::kBatch) << finding.reason;
  EXPECT_EQ(finding.step, 1);
}

TEST(Sizes, ClippingOfManyTensors) {
  std::size_t clip = 0;
  const std::string job =
      "steps = 1\nseed = 7\n[commit]\nevery = 1\n[model]\nkind = \"gpt2\"\nlayers = 48\nheads = 1\nwidth = 4\ncontext = "
      "4\ndropout = 0.0\n[data]\nkind = \"chars\"\n"
      "[batch]\nmicrobatch = 1\nsequence = 4\n[optimizer]\nclip_norm = 1.0\n";
  {
    const PreparedJob prepared = PreparedFrom(job);
    const StepNodes nodes(prepared.program);
    while (nodes.Instance(clip).in.size() < 500) ++clip;
  }
  Parties parties(job, {.node = [&](std::int64_t, std::size_t node, std::span<const std::span<std::uint8_t>> outputs) {
                    if (node == clip) outputs.back()[2] ^= 0x40;
                  }});
  const Finding finding = Convicts(parties);
  EXPECT_EQ(finding.cause, Cause::kOutput) << finding.reason;
  EXPECT_EQ(finding.node, clip);
}

}  // namespace
}  // namespace assay::dispute
