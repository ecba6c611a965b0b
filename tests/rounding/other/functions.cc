// In the place of the machine's libm: its results in long double, rounded, and by a draw from the bits of the result moved to a neighbour. That is at most an ulp and a half from the truth, less
// than the 2^-51 that docs/ROUNDING.md gives elementary functions.
#include <bit>
#include <cmath>
#include <cstdint>

namespace {

double Moved(long double truth) {
  const auto y = static_cast<double>(truth);
  if (!std::isnormal(y)) return y;
  const auto bits = std::bit_cast<std::uint64_t>(y);
  const std::uint64_t draw = bits * 0x9e3779b97f4a7c15 >> 62;
  if (draw >= 2) return y;
  return std::bit_cast<double>(draw == 0 ? bits + 1 : bits - 1);
}

}  // namespace

extern "C" {
double exp(double x) { return Moved(expl(x)); }
double log(double x) { return Moved(logl(x)); }
double tanh(double x) { return Moved(tanhl(x)); }
double erf(double x) { return Moved(erfl(x)); }
double sin(double x) { return Moved(sinl(x)); }
double cos(double x) { return Moved(cosl(x)); }
double pow(double x, double y) { return Moved(powl(x, y)); }
}
