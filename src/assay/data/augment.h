// Augmentation of images: where in the stored image a training sample's pixels come from (docs/formats/data.md). Pure; thread safe.
#pragma once

#include <cstdint>

#include "assay/data/decoder.h"

namespace assay {

// The sample's pixel (h, w) is pixel (h + dy, w' + dx) of the image, w' counted from the other side where it is mirrored.
struct Placement {
  std::int64_t dy = 0, dx = 0;
  bool mirror = false;
};

// A shift by -4 .. 4 in both directions, mirrored with probability 1/2.
Placement DrawPlacement(const DrawContext& context);

// Copies an image of height x width pixels to `out`, which gets all channels of a pixel one after the other. value(y, x, c) is the stored
// one; zeros move in where it has no such pixel.
template <class Value>
void PlaceImage(const Placement& place, std::int64_t height, std::int64_t width, std::int64_t channels, float* out,
                const Value& value) {
  for (std::int64_t h = 0; h < height; ++h) {
    for (std::int64_t w = 0; w < width; ++w) {
      const std::int64_t y = h + place.dy, x = (place.mirror ? width - 1 - w : w) + place.dx;
      const bool inside = y >= 0 && y < height && x >= 0 && x < width;
      for (std::int64_t c = 0; c < channels; ++c) *out++ = inside ? value(y, x, c) : 0.0f;
    }
  }
}

}  // namespace assay
