#include "assay/train/trace.h"

#include <gtest/gtest.h>

#include "assay/backend/ref/ref_backend.h"
#include "assay/exec/step_nodes.h"

namespace assay {
namespace {

constexpr char kJob[] = R"(
steps = 4
seed = 3
[model]
kind = "mlp"
hidden = [40]
[data]
kind = "features"
features = 30
classes = 2
samples = 64
[batch]
microbatch = 4
microbatches = 3
)";

class TraceTest : public testing::Test {
 protected:
  void SetUp() override {
    auto job = ParseJob(kJob, "test.toml");
    ASSERT_TRUE(job) << job.error().message;
    auto prepared = Prepare(*job);
    ASSERT_TRUE(prepared) << prepared.error().message;
    prepared_ = std::move(*prepared);
  }
  Trace Run(std::int64_t step) {
    Stepper stepper(prepared_, *backend_);
    State state = *StartingState(prepared_);
    return TraceStep(stepper, state, step);
  }

  PreparedJob prepared_;
  SigningKey key_ = SigningKey::Generate("test");
  ThreadPool pool_{2};
  std::unique_ptr<Backend> backend_ = ref::MakeRefBackend(pool_);
};

TEST_F(TraceTest, RoundTripsAndRefusesEveryFlippedByte) {
  const Trace trace = Run(0);
  const StepNodes nodes(prepared_.program);
  ASSERT_EQ(trace.nodes.size(), nodes.size());
  for (std::size_t n = 0; n < nodes.size(); ++n) EXPECT_FALSE(trace.nodes[n].empty()) << nodes.Describe(n);
  const Bytes file = SignTrace(trace, key_);
  const auto opened = OpenTrace(file, key_.verify_key(), prepared_.program, "t");
  ASSERT_TRUE(opened) << opened.error().message;
  EXPECT_EQ(*opened, trace);
  for (std::size_t i = 0; i < file.size(); i += 7) {
    Bytes bad = file;
    bad[i] ^= 1;
    EXPECT_FALSE(OpenTrace(bad, key_.verify_key(), prepared_.program, "t")) << i;
    EXPECT_FALSE(OpenTrace(ByteSpan(file).first(i), key_.verify_key(), prepared_.program, "t")) << i;
  }
  EXPECT_FALSE(OpenTrace(file, SigningKey::Generate("test").verify_key(), prepared_.program, "t"));
}

TEST_F(TraceTest, OnlyTracesOfTheProgramAreRead) {
  Trace trace = Run(0);
  const auto refused = [&](const Trace& other) {
    return !OpenTrace(SignTrace(other, key_), key_.verify_key(), prepared_.program, "t");
  };
  Trace longer = trace;
  longer.nodes.emplace_back();
  EXPECT_TRUE(refused(longer));
  Trace shorter = trace;
  shorter.nodes.pop_back();
  EXPECT_TRUE(refused(shorter));
  Trace shifted = trace;  // as many bytes, another shape
  ASSERT_GE(trace.nodes[0].size(), 1u);
  std::swap(shifted.nodes[0], shifted.nodes[1]);
  if (shifted != trace &&
      (shifted.nodes[0].size() != trace.nodes[0].size() || shifted.nodes[0][0].bytes != trace.nodes[0][0].bytes)) {
    EXPECT_TRUE(refused(shifted));
  }
}

TEST_F(TraceTest, TracedAndFastStepsEndInTheSameState) {
  const Trace trace = Run(2);
  Stepper stepper(prepared_, *backend_);
  State state = *StartingState(prepared_);
  stepper.Run(state, stepper.Plan(2));
  EXPECT_EQ(trace.after, StateRootOf(prepared_.program.state, state, pool_));
}

TEST_F(TraceTest, FindsTheFirstDifference) {
  const Trace a = Run(0);
  EXPECT_FALSE(FirstDifference(a, a));
  Trace b = a;
  b.nodes[20][0].leaves[0] = HashBytes({});
  b.nodes[11].back().leaves.back() = HashBytes({});
  const auto difference = FirstDifference(a, b);
  ASSERT_TRUE(difference);
  EXPECT_EQ(difference->node, 11u);
  EXPECT_EQ(difference->output, a.nodes[11].size() - 1);
  EXPECT_EQ(difference->leaf, a.nodes[11].back().leaves.size() - 1);
  b = a;
  b.nodes.pop_back();
  EXPECT_EQ(FirstDifference(a, b)->node, a.nodes.size() - 1);
}

TEST_F(TraceTest, NodesHaveNamesAndEveryStateTensorItsWriter) {
  const StepNodes nodes(prepared_.program);
  for (const StateSpec& spec : prepared_.program.state) {
    const auto writer = nodes.WriterOf(spec.name);
    ASSERT_TRUE(writer) << spec.name;
    EXPECT_EQ(nodes.OutputTypes(writer->node)[writer->output], spec.type);
    EXPECT_TRUE(nodes.Describe(writer->node).starts_with("update: adamw of ")) << nodes.Describe(writer->node);
  }
  EXPECT_FALSE(nodes.WriterOf("nothing"));
  const std::size_t micro = prepared_.program.micro.nodes().size();
  EXPECT_TRUE(nodes.Describe(micro).starts_with("microbatch 1: ")) << nodes.Describe(micro);
  EXPECT_EQ(nodes.Describe(3 * micro), "sum over microbatches of loss");
}

}  // namespace
}  // namespace assay
