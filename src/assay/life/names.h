// The names of an enumeration's values, which count from 0. Pure.
#pragma once

#include <array>
#include <cstddef>
#include <string_view>

namespace assay::life {

template <class Enum, std::size_t kCount>
struct Names {
  std::array<std::string_view, kCount> names;

  constexpr std::string_view Of(Enum value) const { return names[static_cast<std::size_t>(value)]; }
  // The first value where the name is none: what was read is then written otherwise.
  constexpr Enum Find(std::string_view name) const {
    for (std::size_t i = 0; i < kCount; ++i) {
      if (names[i] == name) return static_cast<Enum>(i);
    }
    return static_cast<Enum>(0);
  }
};

}  // namespace assay::life
