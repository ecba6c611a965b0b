// Contractions: every matmul and convolution as products of two operands that are read line by line.
//
// Element (i, j) is the sum over k of line i of `a` times line j of `b`. K is cut into blocks of numerics::ContractionBlock(K), each block a call of OpenBLAS that
// adds to the total, which is what the bound of docs/ROUNDING.md, section 3, rests on. A tile of the output is converted, multiplied and rounded by one thread.
#pragma once

#include <cstdint>
#include <span>

#include "assay/backend/openblas/context.h"

namespace assay::rounded {

// Lines of K values each. Thread safe.
class Operand {
 public:
  explicit Operand(bool k_adjacent) : k_adjacent_(k_adjacent) {}
  virtual ~Operand() = default;

  // Where line l, place k goes: to[l * step + k] if true, to[k * step + l] otherwise. It is how the values lie in memory, so that runs are copied.
  bool k_adjacent() const { return k_adjacent_; }

  // Lines [first, first + count) at places [k0, k0 + depth). Where `squares` is not null, squares[l] grows by the squares of line first + l.
  virtual void Fetch(std::int64_t first, std::int64_t count, std::int64_t k0, std::int64_t depth, double* to, std::int64_t step,
                     double* squares) const = 0;
  virtual void Fetch(std::int64_t first, std::int64_t count, std::int64_t k0, std::int64_t depth, float* to,
                     std::int64_t step) const = 0;

 private:
  bool k_adjacent_;
};

// Implements both forms of Fetch by Derived::Copy<T>(first, count, k0, depth, T* to, step, double* squares).
template <class Derived>
class OperandOf : public Operand {
 public:
  using Operand::Operand;
  void Fetch(std::int64_t first, std::int64_t count, std::int64_t k0, std::int64_t depth, double* to, std::int64_t step,
             double* squares) const override {
    static_cast<const Derived*>(this)->Copy(first, count, k0, depth, to, step, squares);
  }
  void Fetch(std::int64_t first, std::int64_t count, std::int64_t k0, std::int64_t depth, float* to,
             std::int64_t step) const override {
    static_cast<const Derived*>(this)->Copy(first, count, k0, depth, to, step, nullptr);
  }
};

// A matrix in memory: value k of line l is base[l * line + k] (line > 0), or base[l + k * place] for adjacent lines.
class RowLines final : public OperandOf<RowLines> {
 public:
  RowLines(const float* base, std::int64_t line) : OperandOf(true), base_(base), line_(line) {}
  template <class T>
  void Copy(std::int64_t first, std::int64_t count, std::int64_t k0, std::int64_t depth, T* to, std::int64_t step,
            double* squares) const;

 private:
  const float* base_;
  std::int64_t line_;
};

class ColumnLines final : public OperandOf<ColumnLines> {
 public:
  ColumnLines(const float* base, std::int64_t place) : OperandOf(false), base_(base), place_(place) {}
  template <class T>
  void Copy(std::int64_t first, std::int64_t count, std::int64_t k0, std::int64_t depth, T* to, std::int64_t step,
            double* squares) const;

 private:
  const float* base_;
  std::int64_t place_;
};

struct Contraction {
  std::int64_t m = 0, n = 0, k = 0;
  const Operand* a = nullptr;
  const Operand* b = nullptr;
  // Element (i, j) is element rows[i] + j of the output, or origin + i * row_stride + j.
  const std::int64_t* rows = nullptr;
  std::int64_t origin = 0, row_stride = 0;

  std::int64_t Row(std::int64_t i) const { return rows != nullptr ? rows[i] : origin + i * row_stride; }
};

// All of them, sharing the threads.
void RunContractions(std::span<const Contraction> tasks, const Output& output, Context& context);

}  // namespace assay::rounded
