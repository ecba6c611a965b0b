// embedding embedding_grad rope.
#include <limits>
#include <vector>

#include "assay/ops/rules.h"
#include "assay/semantics/rounded/column_sum.h"
#include "assay/semantics/rounded/formula_loops.h"

namespace assay::rounded {
namespace {

// The positions of each id of a range, ascending.
class Positions {
 public:
  Positions(const std::int32_t* ids, std::int64_t n, Range rows)
      : rows_(rows), first_(static_cast<std::size_t>(rows.size()) + 1) {
    for (std::int64_t p = 0; p < n; ++p) {
      if (Has(ids[p])) ++first_[Slot(ids[p]) + 1];
    }
    for (std::size_t r = 1; r < first_.size(); ++r) first_[r] += first_[r - 1];
    positions_.resize(first_.back());
    std::vector<std::size_t> next(first_.begin(), first_.end() - 1);
    for (std::int64_t p = 0; p < n; ++p) {
      if (Has(ids[p])) positions_[next[Slot(ids[p])]++] = p;
    }
  }

  std::int64_t count(std::int64_t id) const { return static_cast<std::int64_t>(first_[Slot(id) + 1] - first_[Slot(id)]); }
  const std::int64_t* of(std::int64_t id) const { return positions_.data() + first_[Slot(id)]; }

 private:
  bool Has(std::int64_t id) const { return id >= rows_.begin && id < rows_.end; }
  std::size_t Slot(std::int64_t id) const { return static_cast<std::size_t>(id - rows_.begin); }

  Range rows_;
  std::vector<std::size_t> first_;
  std::vector<std::int64_t> positions_;
};

template <class T>
struct Turn {
  T c, s;
};

// The turns of pairs `pairs` at a position.
template <class T>
class Turns {
 public:
  Turns(const Attrs& attrs, std::int64_t width, Range pairs) : attrs_(attrs), pairs_(pairs) {
    const T base(attrs.Float(0));
    for (std::int64_t j = pairs.begin; j < pairs.end; ++j) {
      frequencies_.push_back(T(1.0f) / Pow(base, Count<T>(2 * j) / Count<T>(width)));
    }
    turns_.resize(frequencies_.size());
  }

  void MoveTo(std::int64_t time) {
    if (time == time_) return;
    time_ = time;
    const T position = Count<T>(attrs_.Int(1) + time);
    for (std::size_t j = 0; j < turns_.size(); ++j) {
      const T angle = position * frequencies_[j];
      const T s = Sin(angle);
      turns_[j] = {Cos(angle), attrs_.Int(2) != 0 ? -s : s};
    }
  }
  const Turn<T>& operator[](std::int64_t j) const { return turns_[static_cast<std::size_t>(j - pairs_.begin)]; }

 private:
  const Attrs& attrs_;
  Range pairs_;
  std::int64_t time_ = -1;
  std::vector<T> frequencies_;
  std::vector<Turn<T>> turns_;
};

}  // namespace

template <class T>
void Formula_embedding(const KernelArgs& args, int, Range range, T* out) {
  const ops::MatrixView table = ops::LastAxisView(args.in_type(0));
  ForEachRow(range, table.cols, out, [&](std::int64_t position, std::int64_t begin, std::int64_t end, T* y) {
    const std::int32_t id = args.In<std::int32_t>(1)[position];
    if (id < 0 || id >= table.rows) {
      std::fill(y, y + (end - begin), T(std::numeric_limits<float>::quiet_NaN()));
      return;
    }
    const float* row = args.In<float>(0) + id * table.cols;
    for (std::int64_t c = begin; c < end; ++c) y[c - begin] = T(row[c]);
  });
}

template <class T>
void Formula_embedding_grad(const KernelArgs& args, int, Range range, T* out) {
  const std::int64_t cols = args.out_type(0).shape[1];
  const float* dy = args.In<float>(1);
  const Positions positions(args.In<std::int32_t>(0), args.in_type(0).elements(), ops::RowsOf(range, cols));
  ForEachRow(range, cols, out, [&](std::int64_t id, std::int64_t begin, std::int64_t end, T* sums) {
    const std::int64_t* of = positions.of(id);
    ColumnSums(
        positions.count(id), {begin, end}, [&](std::int64_t k, std::int64_t c) { return T(dy[of[k] * cols + c]); }, sums);
  });
}

template <class T>
void Formula_rope(const KernelArgs& args, int, Range range, T* out) {
  const Shape& shape = args.in_type(0).shape;
  const std::int64_t time = shape[1], heads = shape[2], width = shape[3], half = width / 2;
  const bool one = range.size() == 1;
  const Range pairs = one ? Range{range.begin % width % half, range.begin % width % half + 1} : Range{0, half};
  Turns<T> turns(args.attrs(), width, pairs);
  ForEachRow(range, width, out, [&](std::int64_t row, std::int64_t begin, std::int64_t end, T* y) {
    turns.MoveTo(row / heads % time);
    const float* x = args.In<float>(0) + row * width;
    for (std::int64_t i = begin; i < std::min(end, half); ++i) {
      y[i - begin] = T(x[i]) * turns[i].c - T(x[i + half]) * turns[i].s;
    }
    for (std::int64_t i = std::max(begin, half); i < end; ++i) {
      y[i - begin] = T(x[i]) * turns[i - half].c + T(x[i - half]) * turns[i - half].s;
    }
  });
}

ASSAY_FORMULA(embedding);
ASSAY_FORMULA(embedding_grad);
ASSAY_FORMULA(rope);

}  // namespace assay::rounded
