#include "docs/function_steps.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "assay/numerics/functions.h"
#include "docs/trace_policy.h"

namespace assay::docs {
namespace {

using F = Traced::F;
using I = Traced::I;

std::string Block(std::string_view title, const Listing& listing, std::string_view result) {
  return fmt::format("```\n{}:\n  {}\n  gives {}\n```\n", title, fmt::join(listing.lines(), "\n  "), result);
}

std::string Block(std::string_view title, const F& value) {
  Listing listing;
  const std::string result = listing.Add(value);
  return Block(title, listing, result);
}

std::string Reduce() {
  F low;
  I quadrant;
  const F high = numerics::ReduceQuadrant<Traced>(Traced::Name("a"), low, quadrant);
  Listing listing;
  const std::string q = listing.Add(quadrant), h = listing.Add(high), l = listing.Add(low);
  return Block("reduce(a)", listing, fmt::format("high = {}, low = {}, q = {}", h, l, q));
}

}  // namespace

std::string FunctionSteps() {
  const F x = Traced::Name("x");
  const std::string blocks[] = {
      Block("exp(x)", numerics::Exp<Traced>(x)),
      Block("log_normal(x, e)", numerics::LogNormal<Traced>(x, Traced::NameI("e"))),
      Block("tanh(x)", numerics::Tanh<Traced>(x)),
      Block("erf(x)", numerics::Erf<Traced>(x)),
      Reduce(),
      Block("quadrant(high, low, q)",
            numerics::SinQuadrant<Traced>(Traced::Name("high"), Traced::Name("low"), Traced::NameI("q"))),
      Block("rsqrt_normal(x)", numerics::Rsqrt<Traced>(x))};
  return fmt::format("{}", fmt::join(blocks, "\n"));
}

}  // namespace assay::docs
