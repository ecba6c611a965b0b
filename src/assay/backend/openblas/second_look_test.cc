// Logs that are examined: what a correct evaluation writes holds on every machine, and what none writes does not, also where an op has written over its inputs.
#include "assay/backend/openblas/second_look.h"

#include <gtest/gtest.h>

#include <cmath>

#include "assay/backend/openblas/openblas_backend.h"
#include "assay/backend/openblas/output.h"
#include "assay/ops/table.h"
#include "support/op_inputs.h"

namespace assay::rounded {
namespace {

constexpr std::int64_t kElements = 3000;
constexpr float kLr = 0.1f;

// A first step of adamw that takes every weight almost to zero, so that what is left of it is open by several places of the grid.
class Cancelling {
 public:
  Cancelling() : op_{&Ops()[op::adamw], {0.9f, 0.999f, 1e-8f, 0.0f}, {}, {}} {
    const TensorType type{DType::kF32, {kElements}}, one{DType::kF32, {}}, number{DType::kI64, {}};
    op_.in = {type, type, type, type, one, one, number};
    op_.out = Ops()[op::adamw].infer(op_.attrs, op_.in).value();
    for (const TensorType& t : op_.in) inputs_.emplace_back(t);
    for (std::size_t i = 0; i < kElements; ++i) {
      const float g = testkit::NormalDraw(3, static_cast<std::uint32_t>(i));
      inputs_[0].Span<float>()[i] = std::copysign(kLr, g);
      inputs_[1].Span<float>()[i] = g;
      inputs_[2].Span<float>()[i] = inputs_[3].Span<float>()[i] = 0;
    }
    inputs_[4].Span<float>()[0] = kLr;
    inputs_[5].Span<float>()[0] = 1;
    inputs_[6].Span<std::int64_t>()[0] = 1;
  }

  // Writes over weights and moments.
  void Run(Backend& backend) {
    std::vector<const void*> in;
    for (const Tensor& t : inputs_) in.push_back(t.data());
    void* const out[] = {inputs_[0].data(), inputs_[2].data(), inputs_[3].data()};
    backend.Run({&op_, in, out});
  }

 private:
  OpInstance op_;
  std::vector<Tensor> inputs_;
};

struct Machine {
  explicit Machine(double perturbation, int threads = 1) : pool(threads) {
    hooks.perturbation = perturbation;
    backend = MakeOpenBlasBackend({.hooks = &hooks}, pool).value();
  }
  rounding::StepReport Record() {
    backend->rounder()->BeginRecord();
    Cancelling().Run(*backend);
    return backend->rounder()->End();
  }
  rounding::StepReport Examine(ByteSpan log) {
    EXPECT_TRUE(backend->rounder()->BeginFollow(log, "log", rounding::Scrutiny::kExamine));
    Cancelling().Run(*backend);
    return backend->rounder()->End();
  }
  ThreadPool pool;
  TestHooks hooks;
  std::unique_ptr<HostBackend> backend;
};

class Examined : public testing::Test {
 protected:
  void SetUp() override {
    ThreadPool pool(1);
    if (!MakeOpenBlasBackend({}, pool)) GTEST_SKIP() << "OpenBLAS is not installed";
  }
};

TEST_F(Examined, WhatACorrectEvaluationWritesHoldsOnEveryMachine) {
  std::uint64_t corrections = 0;
  for (const double trainer : {-0.99, 0.0, 0.99}) {
    for (const double auditor : {-0.99, 0.0, 0.99}) {
      const rounding::StepReport report = Machine(auditor, 2).Examine(Machine(trainer).Record().log);
      EXPECT_TRUE(report.examined);
      EXPECT_FALSE(report.inadmissible) << Describe(*report.inadmissible);
      corrections += report.corrections;
    }
  }
  EXPECT_GT(corrections, 100u) << "nothing was put to the test";
}

TEST_F(Examined, WhatEveryCorrectEvaluationWritesIsMissed) {
  Machine machine(0);
  const rounding::DecisionLog log = rounding::DecodeDecisions(machine.Record().log, "log").value();
  ASSERT_GT(log.decisions.size(), 100u);
  const rounding::StepReport silent = machine.Examine(rounding::EncodeDecisions({}, log.elements));
  ASSERT_TRUE(silent.inadmissible);
  EXPECT_TRUE(silent.inadmissible->missing);
  EXPECT_LT(silent.inadmissible->element, static_cast<std::uint64_t>(kElements));
  EXPECT_NE(Describe(*silent.inadmissible).find("says nothing of element"), std::string::npos)
      << Describe(*silent.inadmissible);
}

// Errors of three bounds are within D of an auditor's own value more often than not, and beyond E of the truth.
TEST_F(Examined, WhatLiesBetweenEAndDIsRefused) {
  Machine sloppy(3), plain(0);
  const rounding::StepReport report = plain.Examine(sloppy.Record().log);
  ASSERT_TRUE(report.inadmissible);
  EXPECT_NE(report.inadmissible->reason.find("no correct evaluation rounds so"), std::string::npos)
      << Describe(*report.inadmissible);
}

}  // namespace
}  // namespace assay::rounded
