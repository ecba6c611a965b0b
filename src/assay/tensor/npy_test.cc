#include "assay/tensor/npy.h"

#include <gtest/gtest.h>

#include "support/array_bytes.h"

namespace assay {
namespace {

using testkit::Npy;
using testkit::NpyWith;

std::string ErrorOf(ByteSpan file) {
  const auto array = ParseNpy(file, "a.npy");
  return array ? "accepted" : array.error().message;
}

// As numpy.save writes numpy.arange(6, dtype="<i4").reshape(2, 3).
TEST(Npy, ReadsWhatNumpyWrites) {
  const Bytes file = *FromHex(
      "934e554d5059010076007b276465736372273a20273c6934272c2027666f727472616e5f6f72646572273a2046616c73652c20277368617065273a20"
      "28322c2033"
      "292c207d2020202020202020202020202020202020202020202020202020202020202020202020202020202020202020202020202020202020202020"
      "20200a0000"
      "00000100000002000000030000000400000005000000");
  const auto array = ParseNpy(file, "a.npy");
  ASSERT_TRUE(array) << array.error().message;
  EXPECT_EQ(array->type, StoredType::kI32);
  EXPECT_EQ(array->shape, (Shape{2, 3}));
  EXPECT_EQ(array->Load()->Span<std::int32_t>()[4], 4);
}

TEST(Npy, TypesShapesAndVersions) {
  const Bytes data(8, 1);
  for (const auto& [descr, type] : {std::pair{"|u1", StoredType::kU8}, std::pair{"<f4", StoredType::kF32},
                                    std::pair{"<f8", StoredType::kF64}, std::pair{"<i8", StoredType::kI64}}) {
    const std::size_t count = 8 / SizeOf(type);
    EXPECT_EQ(ParseNpy(Npy(descr, fmt::format("({},)", count), data), "a")->type, type);
  }
  EXPECT_EQ(ParseNpy(Npy("<f8", "()", data), "a")->shape, Shape{});
  EXPECT_EQ(ParseNpy(Npy("|u1", "(2, 0, 4)", {}), "a")->shape, (Shape{2, 0, 4}));
  const std::string any_order = "{\"shape\": (2,2), \"fortran_order\": False, \"descr\": \"<u2\"}";
  for (const std::uint8_t major : {std::uint8_t{1}, std::uint8_t{2}, std::uint8_t{3}})
    EXPECT_EQ(ParseNpy(NpyWith(any_order, data, major), "a")->shape, (Shape{2, 2}));
}

TEST(Npy, SaysWhatItDoesNotTake) {
  const Bytes data(8, 1);
  const auto header = [&](std::string_view text) { return ErrorOf(NpyWith(text, data)); };
  EXPECT_EQ(ErrorOf(Npy(">f4", "(2,)", data)),
            "a.npy: npy: is big-endian (>f4), expected little-endian: save x.astype(\"<f4\")");
  EXPECT_EQ(ErrorOf(Npy("|O", "(1,)", data)), "a.npy: npy: holds Python objects, expected an array of numbers");
  EXPECT_EQ(ErrorOf(Npy("<U2", "(1,)", data)), "a.npy: npy: type '<U2', expected integers or floating-point numbers");
  EXPECT_EQ(header("{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (2,)}"),
            "a.npy: npy: has a structured type, expected an array of numbers");
  EXPECT_EQ(header("{'descr': '<f4', 'fortran_order': True, 'shape': (1, 2)}"),
            "a.npy: npy: is in Fortran order, expected C order: save numpy.ascontiguousarray(x)");
  EXPECT_EQ(ErrorOf(Npy("<f4", "(3,)", data)), "a.npy: npy: [3] of F32 take 12 bytes, the file has 8");
  EXPECT_EQ(ErrorOf(Npy("<f4", "(1,)", data)), "a.npy: npy: [1] of F32 take 4 bytes, the file has 8");
  EXPECT_EQ(ErrorOf(AsBytes("not one")), "a.npy: expected a .npy file");
}

TEST(Npy, HostileHeaders) {
  const Bytes data(8, 1);
  const auto refused = [&](std::string_view text) { EXPECT_NE(ErrorOf(NpyWith(text, data)), "accepted") << text; };
  const std::string good = "{'descr': '<f4', 'fortran_order': False, 'shape': (2,)}";
  EXPECT_EQ(ErrorOf(NpyWith(good, data)), "accepted");
  for (std::size_t i = 0; i < good.size(); ++i) refused(good.substr(0, i));
  refused(good + "x");
  refused("{'descr': '<f4', 'descr': '<f4', 'fortran_order': False, 'shape': (2,)}");
  refused("{'descr': '<f4', 'shape': (2,)}");
  refused("{'descr': '<f4', 'fortran_order': False, 'shape': (2,), 'more': 1}");
  refused("{'descr': '<f4', 'fortran_order': False, 'shape': (-2,)}");
  refused("{'descr': '<f4', 'fortran_order': False, 'shape': (1,1,1,1,1,1,1,1,2)}");
  // Products that overflow, also ones that a zero would hide.
  refused("{'descr': '<f4', 'fortran_order': False, 'shape': (4294967296, 4294967296, 2)}");
  refused("{'descr': '<f4', 'fortran_order': False, 'shape': (4294967296, 4294967296, 0)}");
  refused("{'descr': '<f4', 'fortran_order': False, 'shape': (99999999999999999999999,)}");
  refused("{'descr': '', 'fortran_order': False, 'shape': (2,)}");
  const Bytes whole = Npy("<f4", "(2,)", data);
  for (std::size_t i = 0; i < whole.size(); ++i) EXPECT_NE(ErrorOf(ByteSpan(whole).first(i)), "accepted") << i;
}

}  // namespace
}  // namespace assay
