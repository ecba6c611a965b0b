// How long something takes, for choosing between implementations that give the same result.
#pragma once

#include <algorithm>
#include <chrono>

namespace assay::sha256 {

// Seconds of the best of three calls: a disturbance would have to hit all of them.
template <class Work>
double BestSeconds(const Work& work) {
  double best = 1e9;
  for (int turn = 0; turn < 3; ++turn) {
    const auto begin = std::chrono::steady_clock::now();
    work();
    best = std::min(best, std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count());
  }
  return best;
}

}  // namespace assay::sha256
