// Every sort of lie, told by a trainer who stands by it, against an honest trainer: the liar alone is found guilty, where it lied.
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <map>
#include <random>
#include <set>

#include "assay/base/file.h"
#include "assay/dispute/proceedings.h"
#include "assay/ops/digits.h"
#include "jobs_for_test.h"
#include "support/array_bytes.h"
#include "support/scratch.h"
#include "tried.h"

namespace assay::dispute {
namespace {

// The liar is tried on both sides of the table; what is found must be the same.
Finding Convicts(MemoryRun& honest, MemoryRun& liar) {
  EXPECT_TRUE(CheckClaim(ClaimOf(honest), honest.terms()));
  const Played first = Tried(honest, HonestKey(), liar, LiarKey());
  const Played second = Tried(liar, LiarKey(), honest, HonestKey());
  for (const Played* played : {&first, &second}) {
    const Finding* finding = played->finding();
    const bool swapped = played == &second;
    EXPECT_NE(finding, nullptr) << "no verdict after " << played->rounds << " rounds";
    if (finding == nullptr) return Finding{};
    EXPECT_FALSE(finding->guilty[swapped ? 1 : 0]) << "the honest party was convicted: " << finding->reason;
    EXPECT_TRUE(finding->guilty[swapped ? 0 : 1]) << finding->reason;
    EXPECT_FALSE(finding->reason.empty());
  }
  if (first.finding() == nullptr || second.finding() == nullptr) return Finding{};
  EXPECT_EQ(first.finding()->cause, second.finding()->cause) << first.finding()->reason << " | " << second.finding()->reason;
  return *first.finding();
}

class Disputes : public testing::Test {
 protected:
  void Prepare(const std::string& job) {
    prepared_ = std::make_unique<PreparedJob>(PreparedFrom(job));
    honest_ = std::make_unique<MemoryRun>(*prepared_, HonestKey(), Lies{});
  }
  Finding Against(Lies lies) {
    MemoryRun liar(*prepared_, LiarKey(), std::move(lies));
    return Convicts(*honest_, liar);
  }
  std::unique_ptr<PreparedJob> prepared_;
  std::unique_ptr<MemoryRun> honest_;
};

TEST_F(Disputes, HonestRunsAgree) {
  Prepare(MlpJob());
  MemoryRun other(*prepared_, LiarKey(), {});
  const Played played = Play(
      honest_->terms(), ClaimOf(*honest_), ClaimOf(other), [](const Question&) -> Result<Bytes> { return Err("no"); },
      [](const Question&) -> Result<Bytes> { return Err("no"); });
  EXPECT_TRUE(std::holds_alternative<Agreement>(played.outcome.next));
}

TEST_F(Disputes, FlippedBitAfterAStep) {
  for (const std::int64_t every : {1, 2, 4, 5}) {
    Prepare(MlpJob(9, every, 3));
    for (const std::int64_t at : {1, 4, 9}) {
      const Finding finding = Against({.after = [&](std::int64_t step, State& state) {
        if (step == at) state[3].mutable_bytes()[5] ^= 1;
      }});
      EXPECT_EQ(finding.cause, Cause::kResult) << finding.reason;
      EXPECT_EQ(finding.step, at);
      EXPECT_EQ(finding.index, 3u);
      EXPECT_EQ(finding.leaf, 0u);
    }
  }
}

TEST_F(Disputes, ForgedStart) {
  Prepare(MlpJob());
  const Finding finding = Against({.start = [](State& state) { state[1].mutable_bytes()[4100] ^= 1; }});
  EXPECT_EQ(finding.cause, Cause::kStart) << finding.reason;
  EXPECT_EQ(finding.step, 0);
  EXPECT_EQ(finding.leaf, 1u);
}

TEST_F(Disputes, ForgedStartOfNormalValues) {
  Prepare(Gpt2Job());
  const auto& specs = honest_->terms().program().state;
  const auto normal = std::ranges::find(specs, InitKind::kNormal, [](const StateSpec& spec) { return spec.init.kind; });
  ASSERT_NE(normal, specs.end());
  const auto tensor = static_cast<std::size_t>(normal - specs.begin());
  const Finding finding = Against({.start = [&](State& state) { state[tensor].mutable_bytes()[22] ^= 1; }});
  EXPECT_EQ(finding.cause, Cause::kStart) << finding.reason;
  EXPECT_EQ(finding.index, tensor);
}

TEST_F(Disputes, WrongLearningRateOfEverySchedule) {
  for (const char* schedule : {"warmup_cosine\"\nlength = 9\nmin_lr = 1e-5\nwarmup = 1", "step\"\nevery = 2\ngamma = 0.3"}) {
    Prepare(MlpJob(6, 2) + fmt::format("[schedule]\nkind = \"{}\n", schedule));
    const Finding finding = Against({.plan = [](std::int64_t step, StepPlan& plan) {
      if (step == 4) plan.lr = std::nextafter(plan.lr, 1.0f);
    }});
    EXPECT_EQ(finding.cause, Cause::kInput) << finding.reason;
    EXPECT_EQ(finding.step, 4);
  }
}

TEST_F(Disputes, WrongLearningRate) {
  for (const std::int64_t microbatches : {1, 3}) {
    Prepare(MlpJob(6, 2, microbatches));
    const Finding finding = Against({.plan = [](std::int64_t step, StepPlan& plan) {
      if (step >= 3) plan.lr *= 10;
    }});
    EXPECT_EQ(finding.cause, Cause::kInput) << finding.reason;
    EXPECT_EQ(finding.step, 3);
    EXPECT_NE(finding.reason.find("used lr"), std::string::npos) << finding.reason;
  }
}

TEST_F(Disputes, OtherRandomDraws) {
  Prepare(Gpt2Job());
  const Finding finding = Against({.plan = [](std::int64_t step, StepPlan& plan) {
    if (step == 2) plan.seed ^= 1;
  }});
  EXPECT_EQ(finding.step, 2);
  EXPECT_EQ(finding.cause, Cause::kInput) << finding.reason;
}

TEST_F(Disputes, PoisonedBatchHiddenBehindTheRightRoot) {
  for (const std::int64_t microbatches : {1, 3}) {
    Prepare(MlpJob(4, 2, microbatches));
    const Finding finding = Against({.batch = [&](std::int64_t step, std::int64_t m, std::span<Tensor> fields) {
      if (step == 3 && m == microbatches - 1) fields[0].mutable_bytes()[8] ^= 0x40;
    }});
    EXPECT_EQ(finding.cause, Cause::kInput) << finding.reason;
    EXPECT_EQ(finding.step, 3);
    EXPECT_NE(finding.reason.find("batch"), std::string::npos) << finding.reason;
  }
}

TEST_F(Disputes, PoisonedBatchAdmitted) {
  for (const std::string& job : {MlpJob(4, 2, 3), Gpt2Job(2, 2)}) {
    Prepare(job);
    const Finding finding = Against({.batch =
                                         [&](std::int64_t step, std::int64_t m, std::span<Tensor> fields) {
                                           if (step == 2 && m == 1) fields.back().mutable_bytes()[4] ^= 1;
                                         },
                                     .admits_batches = true});
    EXPECT_EQ(finding.cause, Cause::kBatch) << finding.reason;
    EXPECT_EQ(finding.step, 2);
  }
}

// Generated images, and records of CIFAR-10 that are cropped and mirrored.
TEST_F(Disputes, PoisonedImages) {
  const std::filesystem::path file = std::filesystem::path(testing::TempDir()) / fmt::format("records-{}.bin", getpid());
  Bytes records;
  for (std::size_t i = 0; i < 40 * std::size_t{3073}; ++i) {
    records.push_back(static_cast<std::uint8_t>(i % 3073 == 0 ? i / 3073 % 10 : i * i % 251));
  }
  ASSERT_TRUE(WriteFileAtomic(file.string(), records));
  const std::string cifar = fmt::format(
      "steps = 1\nseed = 11\n[commit]\nevery = 1\n[model]\nkind = \"resnet\"\nwidth = 2\n[data]\nkind = \"cifar10\"\npath = "
      "\"{}\"\n"
      "[batch]\nmicrobatch = 3\nmicrobatches = 2\n",
      file.string());
  for (const std::string& job : {ResNetJob(), cifar}) {
    Prepare(job);
    for (const std::size_t field : {std::size_t{0}, std::size_t{1}}) {
      const Finding finding = Against({.batch =
                                           [&](std::int64_t, std::int64_t, std::span<Tensor> fields) {
                                             const auto bytes = fields[field].mutable_bytes();
                                             bytes[bytes.size() - 4] ^= 1;
                                           },
                                       .admits_batches = true});
      EXPECT_EQ(finding.cause, Cause::kBatch) << finding.reason;
      EXPECT_EQ(finding.index, field);
    }
  }
  std::filesystem::remove(file);
}

// Own data: vectors of numbers, images of bytes that are not square, cropped and mirrored, and the records of CIFAR-100.
TEST_F(Disputes, PoisonedArrays) {
  testkit::Scratch folder;
  ByteWriter numbers, labels;
  Bytes bytes, records;
  for (std::uint32_t i = 0; i < 40 * 100; ++i) numbers.F32(static_cast<float>(i * i % 251) / 16.0f - 7.0f);
  for (std::uint32_t i = 0; i < 40; ++i) labels.U32(i % 5);
  for (std::uint32_t i = 0; i < 40 * 2 * 9 * 12; ++i) bytes.push_back(static_cast<std::uint8_t>(i * i % 251));
  for (std::uint32_t i = 0; i < 20 * 3074; ++i)
    records.push_back(static_cast<std::uint8_t>(i % 3074 < 2 ? i / 3074 : i * i % 251));
  const Bytes y = testkit::Npy("<i4", "(40,)", labels.bytes());
  const auto write = [&](const std::string& name, const Bytes& x) {
    ASSAY_CHECK(WriteFileAtomic(folder / name, testkit::Zip({{.name = "x.npy", .bytes = x}, {.name = "y.npy", .bytes = y}})));
  };
  write("vectors", testkit::Npy("<f4", "(40, 100)", numbers.bytes()));
  write("images", testkit::Npy("|u1", "(40, 2, 9, 12)", bytes));
  ASSERT_TRUE(WriteFileAtomic(folder / "records", records));
  const auto job = [&](std::string_view model, std::string_view data, const std::string& file) {
    return fmt::format(
        "steps = 1\nseed = 11\n[commit]\nevery = 1\n[model]\n{}\n[data]\n{}\npath = \"{}\"\n[batch]\nmicrobatch = "
        "3\nmicrobatches = 2\n",
        model, data, folder / file);
  };
  const std::string resnet = "kind = \"resnet\"\nwidth = 2";
  for (const std::string& text :
       {job("kind = \"mlp\"\nhidden = [5]", "kind = \"arrays\"", "vectors"),
        job(resnet, "kind = \"arrays\"\nlayout = \"nchw\"\naugment = true", "images"),
        job(resnet, "kind = \"cifar100\"\nlabel = \"coarse\"", "records"), job(resnet, "kind = \"cifar100\"", "records")}) {
    Prepare(text);
    for (const std::size_t field : {std::size_t{0}, std::size_t{1}}) {
      const Finding finding = Against({.batch =
                                           [&](std::int64_t, std::int64_t, std::span<Tensor> fields) {
                                             const auto poisoned = fields[field].mutable_bytes();
                                             poisoned[poisoned.size() - 4] ^= 1;
                                           },
                                       .admits_batches = true});
      EXPECT_EQ(finding.cause, Cause::kBatch) << finding.reason;
      EXPECT_EQ(finding.index, field);
    }
  }
}

TEST_F(Disputes, OtherSamples) {
  Prepare(MlpJob(4, 1, 2));
  const Finding finding = Against({.plan =
                                       [](std::int64_t step, StepPlan& plan) {
                                         if (step == 2) plan.indices[3] ^= 1;
                                       },
                                   .admits_batches = true});
  EXPECT_EQ(finding.cause, Cause::kBatch) << finding.reason;
  EXPECT_EQ(finding.step, 2);
}

TEST_F(Disputes, FalseLoss) {
  for (const std::int64_t every : {1, 3}) {
    Prepare(MlpJob(6, every, 2));
    const Finding finding = Against({.loss = [](std::int64_t step, std::uint32_t& bits) { bits ^= step == 3 ? 1 : 0; }});
    EXPECT_EQ(finding.cause, Cause::kResult) << finding.reason;
    EXPECT_EQ(finding.step, 3);
  }
}

TEST_F(Disputes, AnotherGraph) {
  Prepare(MlpJob());
  const Finding finding = Against({.after = [](std::int64_t, State& state) { state[0].mutable_bytes()[0] ^= 1; },
                                   .record =
                                       [](std::int64_t, NodeRecord& record) {
                                         if (record.node == 5) record.op += 1;
                                       }});
  EXPECT_EQ(finding.cause, Cause::kStructure) << finding.reason;
  EXPECT_EQ(finding.node, 5u);
}

TEST_F(Disputes, LieAboutAnInput) {
  Prepare(MlpJob(3, 1, 2));
  const StepNodes& nodes = honest_->terms().nodes();
  for (std::size_t n = 0; n < nodes.size(); ++n) {
    if (nodes.Sources(n).empty()) continue;
    const Finding finding =
        Against({.after = [](std::int64_t step, State& state) { state[0].mutable_bytes()[0] ^= step == 2 ? 1 : 0; },
                 .record =
                     [&](std::int64_t step, NodeRecord& record) {
                       if (step == 2 && record.node == n) record.inputs.back().bytes[0] ^= 1;
                     }});
    EXPECT_TRUE(finding.cause == Cause::kInput || finding.cause == Cause::kUnproven) << finding.reason;
    if (finding.cause == Cause::kInput) {
      EXPECT_EQ(finding.node, n);
    }
  }
}

TEST_F(Disputes, RewrittenEntries) {
  Prepare(MlpJob(6, 2, 1));
  EXPECT_EQ(Against({.entry = [](LogEntry& entry) { entry.step += entry.step == 4 ? 1 : 0; }}).cause, Cause::kEntry);
  EXPECT_EQ(Against({.entry = [](LogEntry& entry) { entry.previous.bytes[0] ^= entry.step == 4 ? 1 : 0; }}).cause,
            Cause::kEntry);
  EXPECT_EQ(Against({.entry = [](LogEntry& entry) { entry.loss_bits += entry.step == 0 ? 1 : 0; }}).cause, Cause::kEntry);
  EXPECT_EQ(Against({.receipt = [](Receipt& receipt) { receipt.final_state_root.bytes[0] ^= 1; }}).cause, Cause::kReceipt);
  const Finding finding = Against({.entry = [](LogEntry& entry) { entry.state_root.bytes[3] ^= entry.step == 4 ? 1 : 0; }});
  EXPECT_EQ(finding.cause, Cause::kHistory) << finding.reason;
}

TEST_F(Disputes, ReceiptsOfOtherLengthsAreRefusedAtOnce) {
  Prepare(MlpJob());
  const std::vector<std::function<void(Receipt&)>> changes{
      [](Receipt& r) { r.steps += 1; },        [](Receipt& r) { r.log.size += 1; },
      [](Receipt& r) { r.job.bytes[0] ^= 1; }, [](Receipt& r) { r.data.bytes[0] ^= 1; },
      [](Receipt& r) { r.commit_every = 2; },  [](Receipt& r) { r.program.bytes[0] ^= 1; }};
  for (const auto& change : changes) {
    MemoryRun liar(*prepared_, LiarKey(), {.receipt = change});
    EXPECT_FALSE(CheckClaim(ClaimOf(liar), honest_->terms()));
  }
}

// A wrong value in one output of one node, which flows on into the rest of the step; each op of four models once, in every sort of place.
class OneFalseElement : public Disputes {
 protected:
  // Of each op of the job that `wanted` accepts.
  template <class Wanted>
  void TryEach(const std::string& job, const Wanted& wanted) {
    Prepare(job);
    const StepNodes& nodes = honest_->terms().nodes();
    std::set<std::pair<std::string_view, std::size_t>> done;
    for (std::size_t n = 0; n < nodes.size(); ++n) {
      const OpInstance op = nodes.Instance(n);
      for (std::size_t k = 0; k < op.out.size(); ++k) {
        if (!wanted(op) || op.out[k].elements() == 0 || !done.emplace(op.def->name, k).second) continue;
        const std::size_t size = SizeOf(op.out[k].dtype);
        const std::size_t element = random_() % static_cast<std::size_t>(op.out[k].elements());
        Try(op, n, k, element, size);
      }
    }
  }
  void Try(const OpInstance& op, std::size_t n, std::size_t k, std::size_t element, std::size_t size) {
    const Finding finding =
        Against({.node =
                     [&](std::int64_t, std::size_t node, std::span<const std::span<std::uint8_t>> outputs) {
                       if (node == n) outputs[k][element * size] ^= 1;
                     },
                 .after = [](std::int64_t,
                             State& state) { state[0].mutable_bytes()[0] ^= 1; }});  // some lies would not reach the state
    ++tried_[op.def->name];
    EXPECT_EQ(finding.cause, Cause::kOutput) << op.def->name << ": " << finding.reason;
    EXPECT_EQ(finding.node, n) << op.def->name;
    EXPECT_EQ(finding.index, k);
    EXPECT_EQ(finding.element, static_cast<std::int64_t>(element)) << op.def->name;
  }
  static constexpr unsigned kSeed = 20261115;
  std::mt19937 random_{kSeed};
  std::map<std::string_view, int> tried_;
};

std::string InPrecision(std::string_view precision, const std::string& job) {
  return fmt::format("precision = \"{}\"\n{}", precision, job);
}

TEST_F(OneFalseElement, OfEveryOp) {
  SCOPED_TRACE(fmt::format("seed {}", kSeed));
  for (const std::string& job : {Gpt2Job(1, 2), LlamaJob(), ResNetJob(), MlpJob(1, 1, 3)}) {
    TryEach(job, [](const OpInstance&) { return true; });
  }
  EXPECT_GE(tried_.size(), 40u);
}

TEST_F(OneFalseElement, OfEveryContractionByDigits) {
  SCOPED_TRACE(fmt::format("seed {}", kSeed));
  for (const std::string_view precision : {"int8x3", "int8x2"}) {
    for (const std::string& job : {Gpt2Job(1, 2), LlamaJob(), ResNetJob()}) {
      TryEach(InPrecision(precision, job), [](const OpInstance& op) { return ops::DigitsOf(op) != 0; });
    }
  }
  EXPECT_EQ(tried_.size(), 6u);
}

// Elements that depend on more blocks of the inputs than are opened: the parts of how they come about are told, and one of them decides.
TEST_F(OneFalseElement, ThatManyBlocksDecide) {
  const std::string job =
      "steps = 1\nseed = 3\n[commit]\nevery = 1\n[model]\nkind = \"mlp\"\nhidden = [1100]\n[data]\nkind = \"features\"\n"
      "features = 600\nclasses = 3\nsamples = 64\n[batch]\nmicrobatch = 40\n[optimizer]\nclip_norm = 1.0\n";
  for (const std::string& each : {job, InPrecision("int8x3", job), InPrecision("int8x2", job)}) {
    Prepare(each);
    const StepNodes& nodes = honest_->terms().nodes();
    for (std::size_t n = 0; n < nodes.size(); ++n) {
      const OpInstance op = nodes.Instance(n);
      const std::int64_t element = op.out[0].elements() / 2;
      const std::vector<InputRange> needs = op.def->dependencies(op, 0, {element, element + 1});
      if (ref::LeavesOf(op, needs).size() > kDirectLeaves) Try(op, n, 0, static_cast<std::size_t>(element), 4);
    }
    EXPECT_GE(tried_["matmul"], 2);
    EXPECT_GE(tried_["sum_squares"], 1);
    tried_.clear();
  }
}

TEST_F(Disputes, LiesInAnswers) {
  Prepare(Gpt2Job(2));
  const auto flip = [](std::int64_t step, State& state) { state[2].mutable_bytes()[1] ^= step == 2 ? 1 : 0; };
  const std::vector<std::function<void(const Question&, Result<Bytes>&)>> manners{
      [](const Question&, Result<Bytes>& body) { body = Bytes{}; },
      [](const Question&, Result<Bytes>& body) {
        if (body && !body->empty()) body->back() ^= 1;
      },
      [](const Question&, Result<Bytes>& body) {
        if (body) body->push_back(0);
      },
      [](const Question&, Result<Bytes>& body) { body = Bytes(1 << 20, 0xff); },
      [](const Question& question, Result<Bytes>& body) {
        if (std::holds_alternative<CommitQuestion>(question)) body = Bytes(32, 0xaa);
      }};
  for (std::size_t i = 0; i < manners.size(); ++i) {
    SCOPED_TRACE(i);
    Against({.after = flip, .answer = manners[i]});
  }
}

TEST_F(Disputes, FalseAccuserOfAnHonestTrainer) {
  // Claims something else out of nothing: every state root is made up, every answer is the honest one's.
  Prepare(MlpJob(4, 2, 1));
  Against({.entry = [](LogEntry& entry) {
    if (entry.step > 0) entry.state_root = HashBytes(entry.state_root.bytes);
  }});
}

TEST_F(Disputes, TwoLiarsCanBothBeConvicted) {
  Prepare(MlpJob(3, 1, 1));
  const auto lie = [&](std::uint8_t bit) {
    return Lies{.node = [bit](std::int64_t step, std::size_t node, std::span<const std::span<std::uint8_t>> outputs) {
      if (step == 2 && node == 0) outputs[0][3] ^= bit;
    }};
  };
  MemoryRun a(*prepared_, LiarKey(), lie(0x40)), b(*prepared_, HonestKey(), lie(0x80));
  const Played played = Play(
      a.terms(), ClaimOf(a), ClaimOf(b), [&](const Question& q) { return a.Answer(q); },
      [&](const Question& q) { return b.Answer(q); });
  ASSERT_NE(played.finding(), nullptr);
  EXPECT_TRUE(played.finding()->guilty[0] && played.finding()->guilty[1]) << played.finding()->reason;
  EXPECT_EQ(played.finding()->step, 2);
  EXPECT_EQ(played.finding()->node, 0u);
}

}  // namespace
}  // namespace assay::dispute
