// The orders of docs/NUMERICS.md, section 2, as trees: rowsum, colsum and contract.
#pragma once

#include <array>

#include "assay/numerics/fma.h"
#include "assay/numerics/reduce.h"
#include "assay/semantics/ref/contract.h"
#include "assay/semantics/ref/derive_fold.h"

namespace assay::ref::derive {

// How many sums there are after `level` rounds in which `piece` terms become one.
inline std::int64_t CountAfter(std::int64_t n, std::int64_t piece, int level) {
  for (; level > 0; --level) n = CeilDiv(n, piece);
  return n;
}

inline int RoundsToOne(std::int64_t n, std::int64_t piece) {
  int rounds = 1;
  while (CountAfter(n, piece, rounds) > 1) ++rounds;
  return rounds;
}

// rowsum: sum number `index` after `rounds` rounds. One round: a piece of elements. More: up to 1024 sums of the round before, or, if they
// are too many for one list, the 32 lanes that they are added up in.
//
// Terms: void Need(Range, NeedList&) const; float Step(float acc, std::int64_t i, Inputs) const.
template <class Terms>
class RowSumNode final : public Node {
 public:
  RowSumNode(Terms terms, std::int64_t n, int rounds, std::int64_t index)
      : terms_(std::move(terms)), n_(n), rounds_(rounds), index_(index) {}

  std::uint32_t parts() const override {
    if (rounds_ == 1) return 0;
    return static_cast<std::uint32_t>(listed() ? terms().size() : numerics::kRowLanes);
  }
  NodePtr Part(std::uint32_t i, Values) const override {
    if (listed()) return std::make_unique<RowSumNode>(terms_, n_, rounds_ - 1, terms().begin + i);
    return std::make_unique<Lane>(*this, i);
  }
  void Needs(NeedList& needs) const override {
    if (rounds_ == 1 && terms().size() > 0) terms_.Need(terms(), needs);
  }
  Value Compute(Values parts, Inputs in) const override {
    if (rounds_ == 1) {
      const Range all = terms();
      return Bits(numerics::RowPiece(all.begin, all.end, [&](float acc, std::int64_t i) { return terms_.Step(acc, i, in); }));
    }
    if (listed()) {
      return Bits(numerics::RowPiece(0, static_cast<std::int64_t>(parts.size()),
                                     [&](float acc, std::int64_t i) { return acc + FloatAt(parts, i); }));
    }
    std::array<float, numerics::kRowLanes> lanes;
    for (std::size_t l = 0; l < lanes.size(); ++l) lanes[l] = Float(parts[l]);
    return Bits(numerics::CombineLanes(lanes));
  }

 private:
  // One lane of such a sum: its terms, added from +0.
  class Lane final : public Node {
   public:
    Lane(const RowSumNode& sum, std::int64_t lane) : sum_(sum), lane_(lane) {}
    std::uint32_t parts() const override {
      return static_cast<std::uint32_t>(CeilDiv(sum_.terms().size() - lane_, numerics::kRowLanes));
    }
    NodePtr Part(std::uint32_t i, Values) const override {
      return std::make_unique<RowSumNode>(sum_.terms_, sum_.n_, sum_.rounds_ - 1,
                                          sum_.terms().begin + lane_ + i * numerics::kRowLanes);
    }
    void Needs(NeedList&) const override {}
    Value Compute(Values parts, Inputs) const override {
      float acc = 0.0f;
      for (const Value part : parts) acc = acc + Float(part);
      return Bits(acc);
    }

   private:
    RowSumNode sum_;
    std::int64_t lane_;
  };

  Range terms() const {
    const std::int64_t begin = index_ * numerics::kRowPiece;
    return {begin, std::min(begin + numerics::kRowPiece, CountAfter(n_, numerics::kRowPiece, rounds_ - 1))};
  }
  bool listed() const { return terms().size() <= kFanOut; }

  Terms terms_;
  std::int64_t n_;
  int rounds_;
  std::int64_t index_;
};

template <class Terms>
NodePtr MakeRowSum(Terms terms, std::int64_t n) {
  return std::make_unique<RowSumNode<Terms>>(std::move(terms), n, RoundsToOne(n, numerics::kRowPiece), 0);
}

// colsum: rows in blocks of 64, so many of them at once: two operands in columns, and two elements a row, are 20 leaves.
inline constexpr std::int64_t kRowsAtOnce = 8;

// Sum number `index` after `rounds` rounds, two or more: the up to 64 sums of the round before, added from +0.
template <class Terms>
class ColSumNode final : public Node {
 public:
  ColSumNode(Terms terms, std::int64_t n, int rounds, std::int64_t index)
      : terms_(std::move(terms)), n_(n), rounds_(rounds), index_(index) {}

  static NodePtr Make(const Terms& terms, std::int64_t n, int rounds, std::int64_t index) {
    if (rounds > 1) return std::make_unique<ColSumNode>(terms, n, rounds, index);
    const std::int64_t begin = index * numerics::kColumnBlock;
    return MakeFold(Chain<Terms>{terms}, Bits(0.0f), {begin, std::min(begin + numerics::kColumnBlock, n)}, kRowsAtOnce);
  }

  std::uint32_t parts() const override {
    const std::int64_t left = CountAfter(n_, numerics::kColumnBlock, rounds_ - 1) - index_ * numerics::kColumnBlock;
    return static_cast<std::uint32_t>(std::min(left, numerics::kColumnBlock));
  }
  NodePtr Part(std::uint32_t i, Values) const override {
    return Make(terms_, n_, rounds_ - 1, index_ * numerics::kColumnBlock + i);
  }
  void Needs(NeedList&) const override {}
  Value Compute(Values parts, Inputs) const override {
    return Bits(numerics::ColumnBlock(0, static_cast<std::int64_t>(parts.size()),
                                      [&](float acc, std::int64_t i) { return acc + FloatAt(parts, i); }));
  }

 private:
  Terms terms_;
  std::int64_t n_;
  int rounds_;
  std::int64_t index_;
};

template <class Terms>
NodePtr MakeColSum(Terms terms, std::int64_t n) {
  return ColSumNode<Terms>::Make(terms, n, RoundsToOne(n, numerics::kColumnBlock), 0);
}

// contract: so many products at once: two operands of which every element has a leaf of its own are 32 leaves.
inline constexpr std::int64_t kProductsAtOnce = 16;

// Where the factors of a product are: elements of inputs 0 and 1; kOutside: +0.
struct Factors {
  static constexpr std::int64_t kOutside = -1;
  std::int64_t a = kOutside, b = kOutside;
};

// Where: Factors operator()(std::int64_t k) const.
template <class Where>
struct Products {
  Where where;

  void Need(Range steps, NeedList& needs) const {
    for (std::int64_t k = steps.begin; k < steps.end; ++k) {
      const Factors at = where(k);
      if (at.a >= 0) needs.Add(0, at.a);
      if (at.b >= 0) needs.Add(1, at.b);
    }
  }
  float Step(float acc, std::int64_t k, Inputs in) const {
    const Factors at = where(k);
    return numerics::Fma(at.a < 0 ? 0.0f : in.Floats(0)[at.a], at.b < 0 ? 0.0f : in.Floats(1)[at.b], acc);
  }
};

// The total after blocks `blocks`, to which those before them have contributed `start`: of block sums, or of totals after many blocks each.
template <class Where>
class ContractNode final : public Node {
 public:
  ContractNode(Where where, std::int64_t k, Range blocks, Value start)
      : where_(std::move(where)), k_(k), blocks_(blocks), start_(start) {}

  static NodePtr Block(const Where& where, std::int64_t k, std::int64_t block) {
    const Range steps{block * Contraction::kBlock, std::min((block + 1) * Contraction::kBlock, k)};
    return MakeFold(Chain<Products<Where>>{{where}}, Bits(0.0f), steps, kProductsAtOnce);
  }

  std::uint32_t parts() const override { return static_cast<std::uint32_t>(CeilDiv(blocks_.size(), chunk())); }
  NodePtr Part(std::uint32_t i, Values before) const override {
    const std::int64_t begin = blocks_.begin + i * chunk();
    if (chunk() == 1) return Block(where_, k_, begin);
    return std::make_unique<ContractNode>(where_, k_, Range{begin, std::min(begin + chunk(), blocks_.end)},
                                          i == 0 ? start_ : At(before, std::int64_t{i} - 1));
  }
  void Needs(NeedList&) const override {}
  Value Compute(Values parts, Inputs) const override {
    if (chunk() > 1) return parts.back();
    float total = blocks_.begin == 0 ? Float(parts[0]) : Float(start_) + Float(parts[0]);
    for (const Value sum : parts.subspan(1)) total = total + Float(sum);
    return Bits(total);
  }

 private:
  std::int64_t chunk() const { return ChunkOf(blocks_.size(), 1); }

  Where where_;
  std::int64_t k_;
  Range blocks_;
  Value start_;
};

template <class Where>
NodePtr MakeContract(Where where, std::int64_t k) {
  if (k <= Contraction::kBlock) return ContractNode<Where>::Block(where, k, 0);
  return std::make_unique<ContractNode<Where>>(where, k, Range{0, CeilDiv(k, Contraction::kBlock)}, 0);
}

}  // namespace assay::ref::derive
