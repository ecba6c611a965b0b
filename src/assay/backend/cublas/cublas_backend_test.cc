// The cuBLAS backend against the OpenBLAS backend: every op, every case, each follows what the other has recorded.
#include "assay/backend/cublas/cublas_backend.h"

#include <gtest/gtest.h>

#include <array>
#include <cstdio>
#include <cstring>

#include "assay/ops/digits.h"
#include "assay/ops/table.h"
#include "assay/semantics/rounded/formula.h"
#include "support/op_inputs.h"

namespace assay::cublas {
namespace {

// Both backends, with the grid of `bits`.
struct Pair {
  explicit Pair(int bits) : pool(2) {
    auto made = rounded::MakeOpenBlasBackend({.bits = bits}, pool);
    if (!made) return;
    host = std::move(*made);
    if (auto found = MakeCublasBackend({.bits = bits}, pool)) device = std::move(*found);
  }
  ThreadPool pool;
  std::unique_ptr<HostBackend> host;
  std::unique_ptr<Backend> device;
};

struct Outcome {
  std::vector<Bytes> outputs;
  rounding::StepReport report;
};

// The op on a backend, in a step of its own; `log` is followed, without one the step is recorded.
Outcome Apply(const OpInstance& op, const std::vector<Tensor>& inputs, Backend& backend, const Bytes* log) {
  std::vector<Allocation> held;
  std::vector<const void*> in;
  std::vector<void*> out;
  for (const Tensor& t : inputs) {
    held.emplace_back(backend.memory(), t.bytes().size());
    backend.memory().CopyIn(held.back().data(), t.data(), t.bytes().size());
    in.push_back(held.back().data());
  }
  for (const TensorType& type : op.out) {
    held.emplace_back(backend.memory(), type.bytes());
    out.push_back(held.back().data());
  }
  rounding::Rounder& rounder = *backend.rounder();
  if (log != nullptr) {
    EXPECT_TRUE(rounder.BeginFollow(*log, "log"));
  } else {
    rounder.BeginRecord();
  }
  backend.Run({&op, in, out});
  Outcome outcome;
  outcome.report = rounder.End();
  for (std::size_t k = 0; k < op.out.size(); ++k) {
    outcome.outputs.emplace_back(op.out[k].bytes());
    backend.memory().CopyOut(outcome.outputs.back().data(), out[k], op.out[k].bytes());
  }
  return outcome;
}

void ExpectSame(const OpInstance& op, const Outcome& a, const Outcome& b) {
  for (std::size_t k = 0; k < op.out.size(); ++k) {
    if (a.outputs[k] == b.outputs[k]) continue;
    std::size_t at = 0, unequal = 0;
    for (std::size_t i = a.outputs[k].size() / 4; i-- > 0;) {
      if (std::memcmp(a.outputs[k].data() + 4 * i, b.outputs[k].data() + 4 * i, 4) != 0) at = i, ++unequal;
    }
    float x = 0, y = 0;
    std::memcpy(&x, a.outputs[k].data() + 4 * at, 4);
    std::memcpy(&y, b.outputs[k].data() + 4 * at, 4);
    ADD_FAILURE() << "output " << k << " differs at " << unequal << " of " << a.outputs[k].size() / 4 << " elements, first "
                  << at << ": " << x << " and " << y;
  }
}

class OpCases : public testing::TestWithParam<std::tuple<OpIndex, int>> {
 protected:
  static Pair& PairOf(int bits) {
    static Pair all(32), few(26);
    return bits == 32 ? all : few;
  }
};

TEST_P(OpCases, AreTheSameOnHostAndDevice) {
  const auto [index, bits] = GetParam();
  Pair& pair = PairOf(bits);
  if (pair.device == nullptr) GTEST_SKIP() << "no GPU, cuBLAS or OpenBLAS";
  const OpDef& def = Ops()[index];
  std::uint64_t decisions = 0, corrections = 0;
  for (const OpCase& c : ops::CasesWithoutDigits(def)) {
    SCOPED_TRACE(c.name);
    const OpInstance op = testkit::CaseInstance(def, c);
    const std::vector<Tensor> inputs = testkit::CaseInputs(def, c);
    std::array<std::uint64_t, 2> found = {};  // by device and host
    for (const bool from_host : {true, false}) {
      Backend& trainer = from_host ? *pair.host : *pair.device;
      Backend& auditor = from_host ? *pair.device : *pair.host;
      SCOPED_TRACE(from_host ? "the device follows" : "the host follows");
      const Outcome recorded = Apply(op, inputs, trainer, nullptr);
      const Outcome followed = Apply(op, inputs, auditor, &recorded.report.log);
      if (followed.report.inadmissible) ADD_FAILURE() << rounding::Describe(*followed.report.inadmissible);
      ExpectSame(op, recorded, followed);
      found[from_host ? 1 : 0] = recorded.report.decisions;
      decisions += recorded.report.decisions;
      corrections += followed.report.corrections;
    }
    // Bounds may differ in how finely norms are taken, not by much.
    EXPECT_NEAR(static_cast<double>(found[0]), static_cast<double>(found[1]), 3 + 0.2 * static_cast<double>(found[1]));
  }
  std::printf("%s at %d bits: %llu decisions, %llu corrections\n", std::string(def.name).c_str(), bits,
              static_cast<unsigned long long>(decisions), static_cast<unsigned long long>(corrections));
}

std::vector<OpIndex> AllOps() {
  std::vector<OpIndex> all;
  for (OpIndex op = 0; op < op::kCount; ++op) all.push_back(op);
  return all;
}

INSTANTIATE_TEST_SUITE_P(Vendor, OpCases, testing::Combine(testing::ValuesIn(AllOps()), testing::Values(32, 26)),
                         [](const testing::TestParamInfo<std::tuple<OpIndex, int>>& of) {
                           return std::string(Ops()[std::get<0>(of.param)].name) + "_" + std::to_string(std::get<1>(of.param));
                         });

}  // namespace
}  // namespace assay::cublas
