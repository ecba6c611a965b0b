// Every question that the law asks, of every kind, about every tree of every example and of jobs of the largest sorts: the true answer fits.
#include "assay/dispute/limits.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <set>

#include "assay/dispute/answer.h"
#include "assay/dispute/leaf_records.h"
#include "assay/dispute/proceedings.h"
#include "assay/job/limits.h"
#include "assay/merkle/tree.h"
#include "assay/train/prepare.h"
#include "jobs_for_test.h"
#include "large_jobs.h"

namespace assay::dispute {
namespace {

Result<Terms> TermsOf(const PreparedJob& prepared) {
  return Terms::Make(Encode(prepared.job, prepared.inputs), Encode(prepared.program));
}

class Walk {
 public:
  explicit Walk(const LargeJob& job) : name_(job.name), terms_(job.terms) {}

  void All() {
    const std::int64_t steps = terms_.job().steps, last = static_cast<std::int64_t>(terms_.entries()) - 1;
    Fits(LeavesQuestion{{.kind = TreeKind::kLog}, {{0, 1}, {terms_.entries() - 1, terms_.entries()}}});
    for (const std::int64_t entry : {std::int64_t{1}, last}) {
      Tree({.kind = TreeKind::kBatches, .at = entry});
      Tree({.kind = TreeKind::kStates, .at = entry});
      if (terms_.job().precision == Precision::kFp64Rounded) Tree({.kind = TreeKind::kRoundings, .at = entry});
      Fits(CommitQuestion{{.kind = TreeKind::kStates, .at = entry}});
    }
    Tree({.kind = TreeKind::kLog});
    Tree({.kind = TreeKind::kState, .at = steps});
    for (std::uint32_t i = 0; i < terms_.program().state.size(); ++i)
      Tree({.kind = TreeKind::kStateTensor, .at = steps, .index = i});
    Tree({.kind = TreeKind::kBatch, .at = steps});
    for (std::uint32_t i = 0; i < terms_.fields().size(); ++i) Tree({.kind = TreeKind::kBatchField, .at = steps, .index = i});
    Fits(SamplesQuestion{.step = steps, .begin = 0, .end = 1});
    Fits(CommitQuestion{{.kind = TreeKind::kTrace, .at = steps}});
    Tree({.kind = TreeKind::kTrace, .at = steps});
    Nodes(steps);
  }
  std::size_t largest() const { return largest_; }

 private:
  // First and last leaf, the largest record, and as many leaves apart from each other as one question has.
  void Tree(const TreeName& tree) {
    const std::uint64_t size = *terms_.TreeSize(tree);
    ASSERT_GT(size, 0u) << name_;
    Fits(ExpandQuestion{tree, {0, size}});
    for (const std::uint64_t leaf : {std::uint64_t{0}, size - 1}) Fits(LeavesQuestion{tree, {{leaf, leaf + 1}}});
    if (tree.kind == TreeKind::kInput || tree.kind == TreeKind::kBatchField) {
      LeavesQuestion many{tree, {}};
      for (std::uint64_t i = 0; i < kMaxLeavesAsked; ++i) {
        const std::uint64_t leaf = i * size / kMaxLeavesAsked;
        if (many.spans.empty() || leaf > many.spans.back().end) many.spans.push_back({leaf, leaf + 1});
      }
      Fits(many);
    }
  }
  void Nodes(std::int64_t step) {
    const StepNodes& nodes = terms_.nodes();
    std::set<std::string> seen;
    const auto visit = [&](std::size_t n) {
      const OpInstance op = nodes.Instance(n);
      Fits(LeavesQuestion{{.kind = TreeKind::kTrace, .at = step}, {{n, n + 1}}});
      ASSERT_EQ(RecordBytes(op), Encode(BlankRecord(nodes, n)).size()) << name_ << " node " << n;
      std::string sort = fmt::format("{} {}", op.def->name, ToString(op.attrs, op.def->attrs));
      for (const TensorType& type : op.in) sort += ToString(type);
      if (!seen.insert(sort).second) return;
      const auto node = static_cast<std::uint32_t>(n);
      for (std::uint32_t k = 0; k < op.in.size(); ++k) Tree({.kind = TreeKind::kInput, .at = step, .node = node, .index = k});
      for (std::uint32_t k = 0; k < op.out.size(); ++k) {
        Tree({.kind = TreeKind::kOutput, .at = step, .node = node, .index = k});
        const std::int64_t elements = op.out[k].elements();
        for (const std::int64_t element : {std::int64_t{0}, elements / 2, elements - 1}) Element(op, step, node, k, element);
      }
    };
    for (std::size_t n = 0; n < nodes.micro_size(); ++n) visit(n);
    for (std::size_t n = nodes.update_begin() - std::min<std::size_t>(nodes.update_begin(), 5); n < nodes.size(); ++n) visit(n);
  }
  // What an element needs is few blocks, or is derived from few parts on any way down.
  void Element(const OpInstance& op, std::int64_t step, std::uint32_t node, std::uint32_t output, std::int64_t element) {
    if (terms_.job().precision != Precision::kFp32) return;  // settled by intervals
    const auto needs = op.def->dependencies(op, static_cast<int>(output), {element, element + 1});
    if (FewLeaves(op, needs, kDirectLeaves)) return;
    const auto derivation = ref::Derive(op, static_cast<int>(output), element);
    ASSERT_NE(derivation, nullptr) << name_ << ": " << op.def->name;
    for (const bool last : {false, true}) {
      PartsQuestion question{.step = step, .node = node, .output = output, .element = element};
      ref::Settled settled;
      while (const std::uint32_t parts = derivation->Parts(question.path)) {
        ASSERT_LE(parts, ref::kMaxParts) << name_ << ": " << op.def->name;
        Fits(question);
        settled.emplace_back(last ? parts - 1 : 0, 0);
        question.path.push_back(last ? parts - 1 : 0);
        ASSERT_LE(question.path.size(), kMaxPath) << name_ << ": " << op.def->name;
      }
      ASSERT_TRUE(FewLeaves(op, derivation->Needs(question.path, settled), ref::kMaxNeededLeaves))
          << name_ << ": " << op.def->name;
    }
  }
  static bool FewLeaves(const OpInstance& op, std::span<const InputRange> needs, std::size_t most) {
    std::set<std::pair<int, std::int64_t>> leaves;
    for (const InputRange& need : needs) {
      const auto per_leaf = static_cast<std::int64_t>(kLeafBytes / SizeOf(op.in[static_cast<std::size_t>(need.input)].dtype));
      for (std::int64_t r = 0; r < need.repeat && need.length > 0; ++r) {
        const std::int64_t begin = need.begin + r * need.stride, end = begin + need.length;
        for (std::int64_t leaf = begin / per_leaf; leaf * per_leaf < end; ++leaf) {
          if (leaves.insert({need.input, leaf}).second && leaves.size() > most) return false;
        }
      }
    }
    return true;
  }
  void Fits(const Question& question) {
    const std::size_t exact = TrueBodyBytes(terms_, question), most = MaxBodyBytes(terms_, question);
    EXPECT_GT(exact, 0u) << name_ << ": " << Describe(question);
    EXPECT_LE(exact, most) << name_ << ": " << Describe(question);
    EXPECT_LE(exact, kMaxBodyBytes) << name_ << ": " << Describe(question);
    EXPECT_TRUE(DecodeQuestion(Encode(Digest{}, question))) << name_ << ": " << Describe(question);
    largest_ = std::max(largest_, exact);
  }

  const std::string& name_;
  const Terms& terms_;
  std::size_t largest_ = 0;
};

TEST(Limits, EveryQuestionOfEveryExampleHasAnAnswerThatFits) {
  std::size_t examples = 0;
  for (const auto& file : std::filesystem::directory_iterator(ASSAY_EXAMPLES)) {
    if (file.path().extension() != ".toml") continue;
    auto job = LoadJob(file.path());
    ASSERT_TRUE(job) << job.error().message;
    const auto prepared = Prepare(std::move(*job));
    ASSERT_TRUE(prepared) << prepared.error().message;
    auto terms = TermsOf(*prepared);
    ASSERT_TRUE(terms) << terms.error().message;
    const auto built = Terms::Rebuild(terms->job_bytes());
    ASSERT_TRUE(built) << built.error().message;
    EXPECT_EQ(built->id(), terms->id()) << file.path();
    const LargeJob named{file.path().filename().string(), std::move(*terms)};
    Walk(named).All();
    ++examples;
  }
  EXPECT_GE(examples, 11u);
}

TEST(Limits, EveryQuestionOfTheLargestJobsHasAnAnswerThatFits) {
  for (const LargeJob& job : LargeJobs()) {
    Walk walk(job);
    walk.All();
    const Program& program = job.terms.program();
    std::size_t record = 0;
    for (const Graph* graph : {&program.micro, &program.update}) {
      for (const Node& node : graph->nodes()) record = std::max(record, RecordBytes(graph->Instance(node)));
    }
    fmt::print(
        "{}: job of {} bytes, program of {}; {} and {} nodes, {} in all; {} state tensors, {} update inputs; record of {}, "
        "answer of {}\n",
        job.name, job.terms.job_bytes().size(), job.terms.program_bytes().size(), program.micro.nodes().size(),
        program.update.nodes().size(), job.terms.nodes().size(), program.state.size(), program.update.inputs().size(), record,
        walk.largest());
  }
}

Status Refused(const std::string& toml) {
  auto job = ParseJob(toml, "test.toml");
  if (!job) return tl::unexpected(job.error());
  const auto prepared = Prepare(std::move(*job));
  if (!prepared) return tl::unexpected(prepared.error());
  return {};
}

TEST(Limits, JobsWhoseAnswersWouldNotFitAreNotPrepared) {
  const auto images = [](std::int64_t image, std::int64_t channels) {
    return fmt::format(
        "[model]\nkind = \"resnet\"\nwidth = 1\n[data]\nkind = \"images\"\nimage = {}\nchannels = {}\nsamples = "
        "40\n[batch]\nmicrobatch = 1\n",
        image, channels);
  };
  EXPECT_TRUE(Refused(images(1024, 3))) << Refused(images(1024, 3)).error().message;
  const Status large = Refused(images(1024, 5));
  ASSERT_FALSE(large);
  EXPECT_EQ(large.error().message,
            "test.toml: program: a sample has 20971524 bytes in its batch, at most 16777216 can be disputed");
  const std::string many =
      "[model]\nkind = \"gpt2\"\nlayers = 200\nheads = 1\nwidth = 1\ncontext = 1\n[data]\nkind = "
      "\"chars\"\n[batch]\nmicrobatch = 1\nmicrobatches = {}\nsequence = 1\n";
  EXPECT_TRUE(Refused(fmt::format(fmt::runtime(many), 4096)));
  const Status nodes = Refused(fmt::format(fmt::runtime(many), 65536));
  ASSERT_FALSE(nodes);
  EXPECT_EQ(nodes.error().message,
            "test.toml: program: a step has 919540425 nodes (14031 in each of 65536 microbatches), at most 134217728 can be "
            "disputed");
}

TEST(Limits, SamplesOfArraysThatWouldNotFitAreRefused) {
  Job job;
  job.data.kind = DataKind::kArrays;
  MlpConfig model{.inputs = static_cast<std::int64_t>(kMaxArrayElements), .classes = 2, .hidden = {}};
  job.model = model;
  EXPECT_TRUE(Terms::Rebuild(Encode(job, {})));
  ++model.inputs;
  job.model = model;
  const auto refused = Terms::Rebuild(Encode(job, {}));
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().message.find("a sample of an array has 229377 elements, at most 229376 can be disputed"),
            std::string::npos)
      << refused.error().message;
}

// Whether a rounded job of such a model is one that can be disputed.
Status Rounded(const ModelConfig& model, const BatchConfig& batch) {
  Job job;
  job.precision = Precision::kFp64Rounded;
  job.steps = 4096;
  job.commit_every = 1;
  job.model = model;
  job.batch = batch;
  job.optimizer.clip_norm = 1;
  const bool language = std::holds_alternative<Gpt2Config>(model) || std::holds_alternative<LlamaConfig>(model);
  job.data.kind = language ? DataKind::kTokens : DataKind::kCifar10;
  const auto terms = Terms::Rebuild(Encode(job, {}));
  if (!terms) return tl::unexpected(terms.error());
  return {};
}

ResNetConfig ResNet(std::int64_t image) { return {.depth = 50, .cifar_stem = false, .classes = 1000, .image = image}; }

TEST(Limits, RoundedJobsOfTheUsualSizesAreAccepted) {
  const auto accepted = [](const ModelConfig& model, const BatchConfig& batch) {
    const Status status = Rounded(model, batch);
    EXPECT_TRUE(status) << status.error().message;
  };
  accepted(ResNet(224), {.microbatch = 32, .microbatches = 64});
  accepted(ResNetConfig{.depth = 50, .cifar_stem = true, .image = 32}, {.microbatch = 256});
  accepted(Gpt2Config{}, {.microbatch = 64, .microbatches = 8, .sequence = 1024});
  accepted(Gpt2Config{.context = 4096}, {.microbatch = 8, .sequence = 4096});
  accepted(LlamaConfig{.context = 2048, .layers = 32, .heads = 32, .kv_heads = 32, .width = 4096, .hidden = 11008},
           {.microbatch = 4, .sequence = 2048});
  accepted(LlamaConfig{.context = 1024, .layers = 2, .heads = 8, .kv_heads = 2, .width = 512, .hidden = 1024},
           {.microbatch = 4, .sequence = 1024});
}

TEST(Limits, RoundedJobsWithElementsOfTooManyWordsAreRefused) {
  const auto refused = [](const ModelConfig& model, const BatchConfig& batch, std::string_view op, std::uint64_t words) {
    const Status status = Rounded(model, batch);
    ASSERT_FALSE(status) << op;
    const std::string& why = status.error().message;
    EXPECT_NE(why.find(fmt::format("({}): an element depends on up to {} numbers", op, words)), std::string::npos) << why;
    EXPECT_NE(why.find("at most 4000000 are allowed; take a smaller microbatch or a shorter sequence"), std::string::npos)
        << why;
  };
  refused(ResNet(224), {.microbatch = 64}, "batchnorm_grad", 2 * 64 * 112 * 112 + 3);
  refused(MlpConfig{.inputs = 2, .classes = 2, .hidden = {2}}, {.microbatch = 450'000}, "matmul", 900'000);
  refused(Gpt2Config{}, {.microbatch = 256, .sequence = 1024}, "layernorm_grad_params", 4 * 256 * 1024);
  refused(Gpt2Config{.context = 8192}, {.microbatch = 1, .sequence = 8192}, "attention_grad", 8192 * (3 * 64 + 1) + 2 * 64 + 4);
  refused(LlamaConfig{.context = 4096, .layers = 1, .heads = 64, .kv_heads = 8, .width = 8192, .hidden = 28672},
          {.microbatch = 1, .sequence = 4096}, "attention_grad", 8 * 4096 * (3 * 128 + 1) + 2 * 128);
}

// What the bill takes for granted about records of other layers.
TEST(Limits, EntriesAndRecordsAreAsShortAsTheBillOfRoundedJobsTakesThemToBe) {
  LogEntry entry;
  entry.rounding_root.emplace();
  for (const std::size_t bytes : {Encode(entry).size(), Encode(StepRecord{}).size(), Encode(RoundingLeaf{}).size()}) {
    EXPECT_LE(bytes, 168u);
  }
  EXPECT_LE(Encode(Answer{}).size(), 128u);
}

}  // namespace
}  // namespace assay::dispute
