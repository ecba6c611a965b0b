// The order of matmul and convolution: contract(K) of docs/NUMERICS.md. Feed the products in ascending k, then read the total.
#pragma once

#include <cmath>

#include "assay/numerics/fma.h"

namespace assay::ref {

class Contraction {
 public:
  static constexpr int kBlock = 256;

  void Add(float a, float b) {
    if (count_ == kBlock) Close();
    sum_ = numerics::Fma(a, b, sum_);
    ++count_;
  }
  float Total() {
    Close();
    return total_;
  }

 private:
  void Close() {
    total_ = first_ ? sum_ : total_ + sum_;
    first_ = false;
    sum_ = 0.0f;
    count_ = 0;
  }

  float sum_ = 0.0f;
  float total_ = 0.0f;
  int count_ = 0;
  bool first_ = true;
};

}  // namespace assay::ref
