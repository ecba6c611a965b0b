// The conformance suite: every case of every op, on every backend and thread count, must give the bytes of the reference.
//
// Tests are named OP.CASE/WHAT, where WHAT is a backend (avx2_t7), "dependencies", "golden" or "rules"; OP.hostile tries attributes and types
// that nobody meant. --gtest_filter picks any part, for example --gtest_filter='matmul.*/avx2_*'. With ASSAY_GOLDEN=write the golden digests are written anew.
#include <gtest/gtest.h>

#include <algorithm>

#include <cstdio>
#include <memory>
#include <set>
#include <string>

#include "assay/base/check.h"
#include "assay/ops/table.h"
#include "conformance/backends.h"
#include "conformance/case_run.h"
#include "conformance/golden.h"
#include "conformance/hostile.h"

namespace assay::testkit {
namespace {

constexpr std::size_t kMinCases = 3;

// What all tests share. Tests run in the order of the table, so that the last case computed is nearly always the next one asked for.
struct Suite {
  std::vector<NamedBackend> backends = AllBackends();
  GoldenFile golden{ASSAY_GOLDEN_FILE};
  std::unique_ptr<CaseRun> last;
  std::set<std::string> ops, cases;
  std::int64_t comparisons = 0;
  HostileCounts hostile;

  const CaseRun& Prepare(const OpDef& def, const OpCase& c) {
    if (!last || &last->def != &def || last->c.name != c.name) last = std::make_unique<CaseRun>(def, c);
    ops.insert(std::string(def.name));
    cases.insert(fmt::format("{}/{}", def.name, c.name));
    return *last;
  }
};

class CaseTest : public ::testing::Test {
 public:
  CaseTest(Suite& suite, const OpDef& def, OpCase c) : suite_(suite), def_(def), c_(std::move(c)) {}

 protected:
  const CaseRun& Prepare() { return suite_.Prepare(def_, c_); }
  Suite& suite_;
  const OpDef& def_;
  OpCase c_;
};

class BackendTest final : public CaseTest {
 public:
  BackendTest(Suite& suite, const OpDef& def, OpCase c, Backend& backend)
      : CaseTest(suite, def, std::move(c)), backend_(backend) {}
  void TestBody() override {
    const CaseRun& run = Prepare();
    ++suite_.comparisons;
    EXPECT_EQ(CheckWhole(run, backend_), "");
    if (!def_.elementwise) return;
    if (HostBackend* host = backend_.AsHost()) {
      ++suite_.comparisons;
      EXPECT_EQ(CheckPieces(run, *host), "");
    }
    if (!backend_.in_place()) return;
    ++suite_.comparisons;
    EXPECT_EQ(CheckInPlace(run, backend_), "");
  }

 private:
  Backend& backend_;
};

class DependenciesTest final : public CaseTest {
 public:
  using CaseTest::CaseTest;
  void TestBody() override { EXPECT_EQ(CheckDependencies(Prepare(), suite_.comparisons), ""); }
};

class GoldenTest final : public CaseTest {
 public:
  using CaseTest::CaseTest;
  void TestBody() override {
    ++suite_.comparisons;
    EXPECT_EQ(suite_.golden.Check(Prepare()), "");
  }
};

// What every definition owes: a cost, attributes that survive their codec, canonical NaNs.
class RulesTest final : public CaseTest {
 public:
  using CaseTest::CaseTest;
  void TestBody() override {
    const CaseRun& run = Prepare();
    const Cost cost = def_.cost(run.op);
    double written = 0, read = 0;
    bool empty = false;
    for (const TensorType& type : run.op.out) written += static_cast<double>(type.bytes());
    for (const TensorType& type : run.op.in) {
      read = std::max(read, static_cast<double>(type.elements()));
      empty = empty || type.elements() == 0;
    }
    EXPECT_GE(cost.bytes, written);  // whatever it is for, results have to be written
    // And computed, from each input or to each output at least.
    const double least =
        def_.results == Results::kMoved || empty ? 0 : std::min(read, static_cast<double>(run.op.out[0].elements()));
    EXPECT_GE(cost.flops, least);
    EXPECT_TRUE(Matches(c_.attrs, def_.attrs));
    ByteWriter out;
    Encode(c_.attrs, out);
    ByteReader in(out.bytes(), "attributes");
    const auto decoded = DecodeAttrs(def_.attrs.first(c_.attrs.size()), in);
    ASSERT_TRUE(decoded.has_value());
    EXPECT_TRUE(*decoded == c_.attrs);
    for (const Tensor& output : run.expected) {
      if (output.dtype() != DType::kF32) continue;
      for (const std::uint32_t bits : output.Span<std::uint32_t>()) {
        const bool is_nan = (bits & 0x7fffffffu) > 0x7f800000u;
        ASSERT_TRUE(!is_nan || bits == 0x7fc00000u) << "a NaN that is not the canonical one";
      }
    }
    if (!def_.elementwise) return;
    for (const TensorType& type : run.op.out) EXPECT_EQ(type.elements(), run.op.out[0].elements());
    for (std::size_t k = 0; k < run.op.in.size(); ++k) {
      const bool aligned = (def_.aligned_inputs >> k & 1) != 0;
      EXPECT_TRUE(!aligned || run.op.in[k].elements() == run.op.out[0].elements());
    }
  }
};

class TableTest final : public ::testing::Test {
 public:
  explicit TableTest(const OpDef& def) : def_(def) {}
  void TestBody() override {
    const std::vector<OpCase> cases = def_.cases();
    EXPECT_GE(cases.size(), kMinCases) << def_.name << " needs more test cases";
    std::set<std::string> names;
    for (const OpCase& c : cases) {
      EXPECT_TRUE(names.insert(c.name).second) << c.name << " appears twice";
      EXPECT_TRUE(!c.gradient || def_.gradient != nullptr) << c.name << " asks for a gradient check of an op without gradient";
    }
  }

 private:
  const OpDef& def_;
};

class HostileTest final : public ::testing::Test {
 public:
  HostileTest(Suite& suite, const OpDef& def) : suite_(suite), def_(def) {}
  void TestBody() override { EXPECT_EQ(CheckHostile(def_, suite_.backends, suite_.hostile), ""); }

 private:
  Suite& suite_;
  const OpDef& def_;
};

class GoldenFileTest final : public ::testing::Test {
 public:
  explicit GoldenFileTest(Suite& suite) : suite_(suite) {}
  // Meaningful when the whole suite has run.
  void TestBody() override {
    if (::testing::GTEST_FLAG(filter) != "*" || suite_.golden.writing()) return;
    EXPECT_EQ(suite_.golden.Unused(), std::vector<std::string>{}) << "digests of cases that no longer exist";
  }

 private:
  Suite& suite_;
};

template <class Make>
void Register(std::string_view suite, const std::string& name, Make make) {
  ::testing::RegisterTest(std::string(suite).c_str(), name.c_str(), nullptr, nullptr, __FILE__, __LINE__, make);
}

void RegisterAll(Suite& suite) {
  for (std::size_t i = 0; i < Ops().size(); ++i) {
    const OpDef& def = Ops()[static_cast<OpIndex>(i)];
    Register(def.name, "table", [&def]() -> ::testing::Test* { return new TableTest(def); });
    Register(def.name, "hostile", [&suite, &def]() -> ::testing::Test* { return new HostileTest(suite, def); });
    for (const OpCase& c : def.cases()) {
      Register(def.name, c.name + "/rules", [&suite, &def, c]() -> ::testing::Test* { return new RulesTest(suite, def, c); });
      Register(def.name, c.name + "/golden", [&suite, &def, c]() -> ::testing::Test* { return new GoldenTest(suite, def, c); });
      Register(def.name, c.name + "/dependencies",
               [&suite, &def, c]() -> ::testing::Test* { return new DependenciesTest(suite, def, c); });
      for (const NamedBackend& named : suite.backends) {
        Backend& backend = *named.backend;
        Register(def.name, c.name + "/" + named.name,
                 [&suite, &def, c, &backend]() -> ::testing::Test* { return new BackendTest(suite, def, c, backend); });
      }
    }
  }
  Register("golden_file", "complete", [&suite]() -> ::testing::Test* { return new GoldenFileTest(suite); });
}

}  // namespace
}  // namespace assay::testkit

int main(int argc, char** argv) {
  ::testing::InitGoogleTest(&argc, argv);
  assay::testkit::Suite suite;
  assay::testkit::RegisterAll(suite);
  const int result = RUN_ALL_TESTS();
  std::printf("conformance: %zu ops, %zu cases, %lld comparisons on", suite.ops.size(), suite.cases.size(),
              static_cast<long long>(suite.comparisons));
  for (const auto& named : suite.backends) std::printf(" %s", named.name.c_str());
  std::printf("\nconformance: %lld hostile uses of ops, %lld of them accepted and run\n",
              static_cast<long long>(suite.hostile.tried), static_cast<long long>(suite.hostile.accepted));
  if (suite.golden.writing() && !suite.golden.Save(::testing::GTEST_FLAG(filter) != "*")) {
    std::fprintf(stderr, "conformance: cannot write %s\n", ASSAY_GOLDEN_FILE);
    return 1;
  }
  return result;
}
