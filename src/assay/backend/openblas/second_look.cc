#include "assay/backend/openblas/second_look.h"

#include <algorithm>
#include <cstring>

#include "assay/base/check.h"
#include "assay/semantics/rounded/formula.h"

namespace assay::rounded {
namespace {

// Doubts that are looked at together. A false log may raise one about every element, and the first that does not hold is enough.
constexpr std::size_t kTogether = 256;

// An element of one of the op's outputs.
struct Place {
  std::size_t output = 0;
  std::int64_t element = 0;
};

Place PlaceOf(std::uint64_t position, const KernelArgs& args, std::span<const std::optional<std::uint64_t>> firsts) {
  for (std::size_t k = 0; k < firsts.size(); ++k) {
    if (!firsts[k] || position < *firsts[k]) continue;
    const auto element = static_cast<std::int64_t>(position - *firsts[k]);
    if (element < args.out_type(k).elements()) return {k, element};
  }
  ASSAY_CHECK(false);
}

}  // namespace

SecondLook::SecondLook(const KernelArgs& args, std::vector<Allocation>& kept)
    : args_(args), in_(args.in.begin(), args.in.end()) {
  if (kept.size() < in_.size()) kept.resize(in_.size());
  for (std::size_t k = 0; k < in_.size(); ++k) {
    if (std::ranges::find(args.out, in_[k]) == args.out.end()) continue;
    const std::size_t bytes = args.in_type(k).bytes();
    if (kept[k].bytes() < bytes) {
      kept[k] = {};
      kept[k] = Allocation(HostMemory(), bytes);
    }
    std::memcpy(kept[k].data(), in_[k], bytes);
    in_[k] = kept[k].data();
  }
}

void SecondLook::Settle(rounding::Rounder& rounder, std::span<const std::optional<std::uint64_t>> firsts,
                        ThreadPool& pool) const {
  const std::vector<std::uint64_t> doubts = rounder.TakeDoubts();
  const std::vector<void*> out(args_.out.size(), nullptr);
  const KernelArgs args{args_.op, in_, out};
  const Formula<True> formula = FormulaOf<True>(args_.op->def->index);
  for (std::size_t begin = 0; begin < doubts.size(); begin += kTogether) {
    std::vector<std::uint64_t> some(doubts.begin() + static_cast<std::ptrdiff_t>(begin),
                                    doubts.begin() + static_cast<std::ptrdiff_t>(std::min(begin + kTogether, doubts.size())));
    std::erase_if(some, [&](std::uint64_t position) { return rounder.IsSettled(position); });
    std::vector<std::uint8_t> bad(some.size());
    pool.ParallelFor(static_cast<std::int64_t>(some.size()), 1, [&](std::int64_t from, std::int64_t to, int) {
      for (auto i = static_cast<std::size_t>(from); i < static_cast<std::size_t>(to); ++i) {
        const Place place = PlaceOf(some[i], args_, firsts);
        True truth;
        formula(args, static_cast<int>(place.output), {place.element, place.element + 1}, &truth);
        const float value = args_.Out<float>(place.output)[place.element];
        bad[i] = rounder.Judge(some[i], truth.v, truth.e, value).holds() ? 0 : 1;
      }
    });
    for (std::size_t i = 0; i < some.size(); ++i) {
      if (bad[i] == 0) continue;
      if (!rounder.amends()) return rounder.RefuseAt(some[i]);
      const Place place = PlaceOf(some[i], args_, firsts);
      if (const auto own = rounder.Overrule(some[i])) args_.Out<float>(place.output)[place.element] = *own;
    }
  }
}

}  // namespace assay::rounded
