#include "fuzz/mutate.h"

#include <algorithm>
#include <array>

#include "assay/base/philox.h"

namespace assay::fuzz {
namespace {

class Random {
 public:
  explicit Random(std::uint64_t number) : key_{static_cast<std::uint32_t>(number), static_cast<std::uint32_t>(number >> 32)} {}
  std::uint32_t Below(std::size_t n) {
    return n == 0 ? 0 : Philox(key_, {next_++, 0, 0, 0})[0] % static_cast<std::uint32_t>(n);
  }

 private:
  PhiloxKey key_;
  std::uint32_t next_ = 0;
};

using Offset = std::ptrdiff_t;

void MutateOnce(Bytes& bytes, std::span<const Bytes> seeds, Random& random) {
  constexpr std::array<std::uint64_t, 10> kBoundaries = {
      0, 1, 0x7f, 0xff, 0x7fff, 0xffff, 0x7fffffff, 0xffffffff, ~std::uint64_t{0} >> 1, ~std::uint64_t{0}};
  const std::size_t at = random.Below(bytes.size() + 1);
  switch (random.Below(7)) {
    case 0:
      if (at < bytes.size()) bytes[at] = static_cast<std::uint8_t>(bytes[at] ^ (1u << random.Below(8)));
      break;
    case 1:
      if (at < bytes.size()) bytes[at] = static_cast<std::uint8_t>(random.Below(256));
      break;
    case 2: {
      const std::uint64_t value = kBoundaries[random.Below(kBoundaries.size())];
      const std::size_t width = std::size_t{1} << random.Below(4);
      for (std::size_t i = 0; i < width && at + i < bytes.size(); ++i)
        bytes[at + i] = static_cast<std::uint8_t>(value >> (8 * i));
      break;
    }
    case 3:
      bytes.insert(bytes.begin() + static_cast<Offset>(at), random.Below(8) + 1, static_cast<std::uint8_t>(random.Below(256)));
      break;
    case 4: {
      const std::size_t end = std::min(bytes.size(), at + 1 + random.Below(16));
      bytes.erase(bytes.begin() + static_cast<Offset>(std::min(at, end)), bytes.begin() + static_cast<Offset>(end));
      break;
    }
    case 5: bytes.resize(at); break;
    default: {
      const Bytes& other = seeds[random.Below(seeds.size())];
      const std::size_t from = random.Below(other.size() + 1),
                        size = random.Below(std::min<std::size_t>(other.size() - from, 64) + 1);
      const auto first = other.begin() + static_cast<Offset>(from);
      bytes.insert(bytes.begin() + static_cast<Offset>(at), first, first + static_cast<Offset>(size));
    }
  }
}

}  // namespace

Bytes Mutate(std::span<const Bytes> seeds, std::uint64_t number) {
  Random random(number);
  Bytes bytes = seeds[random.Below(seeds.size())];
  for (std::uint32_t i = random.Below(4) + 1; i > 0; --i) MutateOnce(bytes, seeds, random);
  return bytes;
}

}  // namespace assay::fuzz
