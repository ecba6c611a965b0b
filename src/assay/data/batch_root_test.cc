#include "assay/data/batch_root.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace assay {
namespace {

constexpr std::int64_t kRows = 6;
constexpr std::size_t kRowBytes = 4 * 20 * 20 * 3;  // no multiple of a leaf

// Rows [begin, end) of the batch of tests/vectors/data_root.py, labels first.
std::vector<Tensor> Rows(std::int64_t begin, std::int64_t end) {
  std::vector<Tensor> fields;
  fields.emplace_back(DType::kI32, Shape{end - begin});
  fields.emplace_back(DType::kF32, Shape{end - begin, 20, 20, 3});
  for (std::int64_t row = begin; row < end; ++row) {
    fields[0].Span<std::int32_t>()[static_cast<std::size_t>(row - begin)] = static_cast<std::int32_t>(row);
    const auto bytes = fields[1].mutable_bytes().subspan(static_cast<std::size_t>(row - begin) * kRowBytes, kRowBytes);
    for (std::size_t i = 0; i < kRowBytes; ++i) {
      const std::size_t at = static_cast<std::size_t>(row) * kRowBytes + i;
      bytes[i] = static_cast<std::uint8_t>(at * 131 + (at >> 8));
    }
  }
  return fields;
}

constexpr char kRoot[] = "82d97bf578ebf0b1908b73ee8fc45b9f5fbe93906545d525141a9c72891660fe";

TEST(BatchRoot, Vector) { EXPECT_EQ(BatchRoot({"labels", "images"}, Rows(0, kRows)).hex(), kRoot); }

TEST(BatchRoot, MicrobatchesJoinAlongTheFirstAxis) {
  BatchRootBuilder builder({"labels", "images"});  // one for all steps
  for (std::int64_t microbatch : {1, 2, 3, 6}) {
    for (std::int64_t row = 0; row < kRows; row += microbatch) builder.Add(Rows(row, row + microbatch));
    EXPECT_EQ(builder.Finish().hex(), kRoot) << microbatch;
  }
  builder.Add(Rows(0, 4));
  builder.Add(Rows(4, 4));
  builder.Add(Rows(4, 6));
  EXPECT_EQ(builder.Finish().hex(), kRoot);
}

TEST(BatchRoot, NamesAreOrdered) {
  std::vector<Tensor> fields = Rows(0, kRows);
  std::swap(fields[0], fields[1]);
  EXPECT_EQ(BatchRoot({"images", "labels"}, fields).hex(), kRoot);
}

TEST(BatchRoot, BindsNamesValuesOrderAndRows) {
  EXPECT_NE(BatchRoot({"labels", "image"}, Rows(0, kRows)).hex(), kRoot);
  EXPECT_NE(BatchRoot({"labels", "images"}, Rows(0, kRows - 1)).hex(), kRoot);
  for (std::size_t field : {0u, 1u}) {
    std::vector<Tensor> fields = Rows(0, kRows);
    fields[field].mutable_bytes().back() ^= 0x80;
    EXPECT_NE(BatchRoot({"labels", "images"}, fields).hex(), kRoot);
  }
  BatchRootBuilder builder({"labels", "images"});
  builder.Add(Rows(3, 6));
  builder.Add(Rows(0, 3));
  EXPECT_NE(builder.Finish().hex(), kRoot);
}

}  // namespace
}  // namespace assay
