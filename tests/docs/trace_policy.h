// Traced: an arithmetic policy (numerics/scalar.h) that computes nothing and remembers what a function of numerics/ does, operation by operation.
//
// The functions are templates over a policy, so that the listing in docs/NUMERICS.md is made by the very text that computes, and cannot differ from
// it. A value is an expression; Listing gives each operation a line, operands first and from the left, whatever order the compiler evaluates
// arguments in. Values are immutable.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace assay::docs {

struct Traced {
  // An operation on others, or a name: of an argument or a constant.
  struct Expression {
    std::string form;  // "fma({}, {}, {})"
    std::vector<std::shared_ptr<const Expression>> operands;
    enum Kind { kName, kFloat, kInteger, kInline } kind;  // an inline one has no line of its own
  };
  struct Value {
    std::shared_ptr<const Expression> is;
  };
  struct F : Value {};
  struct I : Value {};
  struct M : Value {};

  static F Name(const char* name) { return Make<F>(name, Expression::kName); }
  static I NameI(const char* name) { return Make<I>(name, Expression::kName); }
  static F Set(float x);
  static I SetI(std::int32_t x);

  static F Add(const F& a, const F& b) { return Float("{} + {}", a, b); }
  static F Sub(const F& a, const F& b) { return Float("{} - {}", a, b); }
  static F Mul(const F& a, const F& b) { return Float("{} * {}", a, b); }
  static F Div(const F& a, const F& b) { return Float("{} / {}", a, b); }
  static F Neg(const F& a) { return Make<F>("-{}", Expression::kInline, a); }
  static F Abs(const F& a) { return Float("|{}|", a); }
  static F Sqrt(const F& a) { return Float("sqrt({})", a); }
  static F Fma(const F& a, const F& b, const F& c) { return Float("fma({}, {}, {})", a, b, c); }
  static F NegFma(const F& a, const F& b, const F& c) { return Float("fma(-{}, {}, {})", a, b, c); }
  static F Select(const M& m, const F& yes, const F& no) { return Float("{} ? {} : {}", m, yes, no); }
  static F AtMost(const F& a, float limit) { return Select(Gt(a, Set(limit)), Set(limit), a); }
  static F AtLeast(const F& a, float limit) { return Select(Lt(a, Set(limit)), Set(limit), a); }

  static M Lt(const F& a, const F& b) { return Condition("{} < {}", a, b); }
  static M Le(const F& a, const F& b) { return Condition("{} <= {}", a, b); }
  static M Gt(const F& a, const F& b) { return Condition("{} > {}", a, b); }
  static M Ge(const F& a, const F& b) { return Condition("{} >= {}", a, b); }
  static M EqI(const I& a, const I& b) { return Condition("{} = {}", a, b); }
  static M And(const M& a, const M& b) { return Condition("{} and {}", a, b); }
  static M Not(const M& a) { return Condition("not ({})", a); }

  static I Bits(const F& a) { return Integer("bits({})", a); }
  static F FromBits(const I& a) { return Float("float({})", a); }
  static F ToFloat(const I& a) { return Float("convert({})", a); }
  static I AddI(const I& a, const I& b) { return Integer("{} + {}", a, b); }
  static I SubI(const I& a, const I& b) { return Integer("{} - {}", a, b); }
  static I AndI(const I& a, const I& b) { return Integer("{} and {}", a, b); }
  static I OrI(const I& a, const I& b) { return Integer("{} or {}", a, b); }
  static I XorI(const I& a, const I& b) { return Integer("{} xor {}", a, b); }
  template <int n>
  static I Shl(const I& a) {
    return Integer("{} << " + std::to_string(n), a);
  }
  template <int n>
  static I Sar(const I& a) {
    return Integer("{} >> " + std::to_string(n), a);
  }
  // When the slow function takes over stands in the text beside the listing.
  static F Patch(const M&, const F&, const F& fast, float (*)(float)) { return fast; }

 private:
  template <class To, class... V>
  static To Make(std::string form, Expression::Kind kind, const V&... operands) {
    return To{{std::make_shared<const Expression>(Expression{std::move(form), {operands.is...}, kind})}};
  }
  template <class... V>
  static F Float(std::string form, const V&... operands) {
    return Make<F>(std::move(form), Expression::kFloat, operands...);
  }
  template <class... V>
  static I Integer(std::string form, const V&... operands) {
    return Make<I>(std::move(form), Expression::kInteger, operands...);
  }
  template <class... V>
  static M Condition(std::string form, const V&... operands) {
    return Make<M>(std::move(form), Expression::kInline, operands...);
  }
};

// The lines that lead to some values; what occurs twice is written once.
class Listing {
 public:
  // The name of the value, after adding what leads to it.
  std::string Add(const Traced::Value& value) { return Add(*value.is); }
  const std::vector<std::string>& lines() const { return lines_; }

 private:
  std::string Add(const Traced::Expression& expression);
  std::vector<std::string> lines_;
  std::map<std::string, std::string> names_;  // by what stands behind "="
  int floats_ = 0, integers_ = 0;
};

}  // namespace assay::docs
