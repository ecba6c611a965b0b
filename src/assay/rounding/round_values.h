// Rounding of many values to a grid, and a quick test whether one of them can be a decision. The same values as Grid::Round, in loops that
// compilers turn into vector code; AVX2 where the processor has it. Pure; thread safe.
#pragma once

#include <cstdint>

#include "assay/numerics/grid.h"

namespace assay::rounding {

// out[i] = grid.Round(y[i])
void RoundValues(const numerics::Grid& grid, const double* y, std::int64_t n, float* out);

// The same; returns false only if Decide(grid, y[i], Reach(e[i]), ...) is nothing for each i.
bool RoundValuesAndTest(const numerics::Grid& grid, const double* y, const double* e, std::int64_t n, float* out);

}  // namespace assay::rounding
