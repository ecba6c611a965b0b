// Rounded jobs: what a referee evaluates for the cases of ops.json, and what it makes of a value by what a log says about it.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cmath>
#include <limits>
#include <optional>

#include "assay/base/bytes.h"
#include "assay/merkle/sha256.h"
#include "assay/ops/table.h"
#include "assay/rounding/by_log.h"
#include "assay/rounding/decision.h"
#include "assay/rounding/paper_log.h"
#include "assay/semantics/rounded/formula.h"
#include "docs/json.h"
#include "docs/op_cases.h"
#include "docs/vectors.h"
#include "support/op_inputs.h"

namespace assay::docs {
namespace {

using numerics::DoubleDouble;
using numerics::Grid;
using rounding::Decision;

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

std::uint64_t BitsOf(double x) { return std::bit_cast<std::uint64_t>(x == x ? x : kNan); }
std::string Bits64(double x) { return fmt::format("{:016x}", BitsOf(x)); }

// The numbers of an element: the value of an exact op; hi, lo and the bound of any other.
using Numbers = std::vector<double>;

std::vector<Numbers> Evaluate(const KernelArgs& args, OpIndex index, int output, Range range) {
  std::vector<Numbers> all;
  if (!Ops()[index].has_bound()) {
    std::vector<double> y(static_cast<std::size_t>(range.size()));
    rounded::FormulaOf<double>(index)(args, output, range, y.data());
    for (const double value : y) all.push_back({value});
  } else {
    std::vector<rounded::True> x(static_cast<std::size_t>(range.size()));
    rounded::FormulaOf<rounded::True>(index)(args, output, range, x.data());
    for (const rounded::True& value : x) all.push_back({value.v.hi(), value.v.lo(), value.e});
  }
  return all;
}

std::string Output(const std::vector<Numbers>& elements) {
  std::vector<std::string> first;
  ByteWriter bytes;
  for (const Numbers& numbers : elements) {
    for (const double x : numbers) bytes.U64(BitsOf(x));
  }
  if (!elements.empty()) {
    for (const double x : elements.front()) first.push_back(Bits64(x));
  }
  return Object({{"first", Quoted(fmt::format("{}", fmt::join(first, " ")))},
                 {"digest", Quoted(HashBytes(bytes.bytes()).hex().substr(0, 32))}});
}

std::string Entry(const OpDef& def, const OpCase& c) {
  const OpInstance op = testkit::CaseInstance(def, c);
  const std::vector<Tensor> inputs = testkit::CaseInputs(def, c);
  std::vector<const void*> in;
  for (const Tensor& input : inputs) in.push_back(input.data());
  const std::vector<void*> out(op.out.size(), nullptr);
  std::vector<std::string> outputs;
  for (std::size_t k = 0; k < op.out.size(); ++k) {
    const bool floats = op.out[k].dtype == DType::kF32;
    outputs.push_back(floats ? Output(Evaluate({&op, in, out}, def.index, static_cast<int>(k), {0, op.out[k].elements()}))
                             : "null");
  }
  return Object({{"op", Quoted(def.name)}, {"case", Quoted(c.name)}, {"out", fmt::format("[{}]", fmt::join(outputs, ", "))}});
}

char Letter(const rounding::ByLog& by) { return by.lied ? 'l' : by.log_false.empty() ? '.' : 'f'; }

// What is made of `value` by each of the things that a log can say.
std::string Judged(const Grid& grid, const DoubleDouble& x, double e, float value, float a, float b) {
  Decision down, up, wide, by16, by2;
  up.up = true;
  wide.wide = by16.wide = by2.wide = true;
  wide.value = b;
  by16.modulus = 4;
  by16.residue = static_cast<std::uint32_t>(rounding::PlaceOf(grid, b) & 15);
  by2.modulus = 1;
  by2.residue = static_cast<std::uint32_t>(rounding::PlaceOf(grid, a) & 1);
  std::string text(1, rounding::CanRoundTo(grid, x, 3 * e, value) ? '+' : '-');
  text += Letter(rounding::JudgeByDecision(grid, std::nullopt, x, e, value));
  for (const Decision& said : {down, up, wide, by16, by2}) text += Letter(rounding::JudgeByDecision(grid, said, x, e, value));
  const double tau = 0.25 * grid.Spacing(1);
  for (const std::uint8_t symbol : {rounding::kWentDown, rounding::kNotClose, rounding::kWentUp}) {
    text += Letter(rounding::JudgeBySymbol(grid, symbol, tau, x, e, value));
  }
  return text;
}

// The entry of x and e, with what is made of each of four values.
std::string Judgement(int bits, const DoubleDouble& x, double e, float a, float b) {
  const Grid grid(bits);
  std::vector<std::string> by, written;
  for (const float value : {a, b, grid.Above(std::max(a, b)), grid.Below(std::min(a, b))}) {
    written.push_back(Bits(value));
    by.push_back(Judged(grid, x, e, value, a, b));
  }
  return Object({{"bits", fmt::format("{}", bits)},
                 {"x", Quoted(Bits64(x.hi()) + " " + Bits64(x.lo()))},
                 {"e", Quoted(Bits64(e))},
                 {"values", Quoted(fmt::format("{}", fmt::join(written, " ")))},
                 {"judged", Quoted(fmt::format("{}", fmt::join(by, " ")))}});
}

std::vector<std::string> Judgements() {
  constexpr double kInfinity = std::numeric_limits<double>::infinity(), kNaN = std::numeric_limits<double>::quiet_NaN();
  std::vector<std::string> entries;
  for (const int bits : {24, 28, 32}) {
    const Grid grid(bits);
    for (const float near : {0.7310586f, -1.0f, 0.0f, -0x1p-126f, 0x1.fffep127f}) {
      const float a = grid.Round(double{near}), b = std::isfinite(grid.Above(a)) ? grid.Above(a) : grid.Below(a);
      const double boundary = double{a} / 2 + double{b} / 2, apart = std::fabs(double{b} - double{a});
      for (const double part : {0x1p-20, 0x1p-4, 1.5}) {
        const double e = part * apart;
        for (const double off : {0.0, 0.75, -0.75, 1.0005, 2.5, -2.5, 3.5}) {
          entries.push_back(Judgement(bits, DoubleDouble::Sum(boundary + off * e, e * 0x1p-60), e, a, b));
        }
      }
      // Nothing is known of these elements but that a log must not be silent about them; or, where x is infinite or NaN, all.
      for (const double e : {kInfinity, kNaN}) {
        for (const double x : {double{a}, boundary, kInfinity, kNaN})
          entries.push_back(Judgement(bits, DoubleDouble(x), e, a, b));
      }
    }
  }
  return entries;
}

}  // namespace

std::string RoundedOpVectors() {
  std::vector<std::string> entries;
  for (OpIndex i = 0; i < op::kCount; ++i) {
    for (const OpCase& c : CasesOfVectors(Ops()[i])) entries.push_back(Entry(Ops()[i], c));
  }
  return fmt::format("  \"ops\": {},\n  \"judged\": {}", Lines(entries, 2), Lines(Judgements(), 2));
}

}  // namespace assay::docs
