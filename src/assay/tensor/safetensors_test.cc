#include "assay/tensor/safetensors.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <limits>

namespace assay {
namespace {

Bytes File(const std::string& header, std::size_t data_bytes) {
  ByteWriter out;
  out.U64(header.size());
  out.Raw(AsBytes(header));
  for (std::size_t i = 0; i < data_bytes; ++i) out.U8(static_cast<std::uint8_t>(i));
  return out.Take();
}

std::string Refusal(const std::string& header, std::size_t data_bytes) {
  const Bytes bytes = File(header, data_bytes);
  const auto file = Safetensors::Parse(bytes, "f");
  return file ? "accepted" : file.error().message;
}

TEST(Safetensors, RoundTrip) {
  Tensor a(DType::kF32, {2, 3}), b(DType::kI64, {}), c(DType::kU8, {0, 4});
  for (std::size_t i = 0; i < 6; ++i) a.Span<float>()[i] = static_cast<float>(i) / 3;
  b.Span<std::int64_t>()[0] = -5;
  const std::vector<TensorRef> refs = {{"z/a", &a}, {"b", &b}, {"c\"\\", &c}};
  const Bytes bytes = EncodeSafetensors(refs, {{"k", "v"}}).value();
  const auto file = Safetensors::Parse(bytes, "f");
  ASSERT_TRUE(file) << file.error().message;
  ASSERT_EQ(file->tensors().size(), 3u);
  EXPECT_EQ(file->tensors()[0].name, "b");
  EXPECT_EQ(file->metadata().at("k"), "v");
  ASSERT_NE(file->Find("z/a"), nullptr);
  const Tensor again = file->Find("z/a")->Load().value();
  EXPECT_EQ(again.shape(), (Shape{2, 3}));
  EXPECT_EQ(std::memcmp(again.data(), a.data(), 24), 0);
  EXPECT_EQ(file->Find("b")->Load()->Span<std::int64_t>()[0], -5);
  EXPECT_EQ(file->Find("nothing"), nullptr);
}

// The format allows all of these; one of them is ours.
TEST(Safetensors, KnowsItsOwnBytes) {
  const auto canonical = [](const std::string& header) {
    const Bytes bytes = File(header, 6);
    const auto file = Safetensors::Parse(bytes, "f");
    EXPECT_TRUE(file) << header;
    return file && file->IsCanonical();
  };
  const std::string a = R"("a":{"data_offsets":[0,4],"dtype":"F32","shape":[1]})";
  const std::string b = R"("b":{"data_offsets":[4,6],"dtype":"U16","shape":[1]})";
  const std::string header = "{" + a + "," + b + "}";
  const std::string padding((8 - header.size() % 8) % 8, ' ');
  EXPECT_TRUE(canonical(header + padding));
  EXPECT_FALSE(canonical(header + padding + " "));
  EXPECT_FALSE(canonical(header + padding + std::string(8, ' ')));
  EXPECT_FALSE(canonical("{" + b + "," + a + "}" + padding));
  EXPECT_FALSE(canonical(R"({"__metadata__":{},)" + a + "," + b + "}"));
  EXPECT_FALSE(canonical(R"({"":{"data_offsets":[0,6],"dtype":"U8","shape":[6]}} )"));
  EXPECT_FALSE(canonical(R"({"a":{"data_offsets":[0,6],"dtype":"F16","shape":[3]}})"));
  EXPECT_FALSE(canonical(R"({"\u0061":{"data_offsets":[0,4],"dtype":"F32","shape":[1]},)" + b + "}"));
  EXPECT_FALSE(canonical(
      R"({"a":{"data_offsets":[2,6],"dtype":"F32","shape":[1]},"b":{"data_offsets":[0,2],"dtype":"U16","shape":[1]}})"));
}

// Names sorted, header padded to eight bytes with spaces: one set of tensors has one file.
TEST(Safetensors, WriterIsCanonical) {
  Tensor a(DType::kF32, {1}), b(DType::kU16, {1});
  a.Span<float>()[0] = 1.0f;
  b.Span<std::uint16_t>()[0] = 0x0201;
  const std::vector<TensorRef> refs = {{"b", &b}, {"a", &a}};
  const Bytes bytes = EncodeSafetensors(refs).value();
  const std::string expected =
      R"({"a":{"data_offsets":[0,4],"dtype":"F32","shape":[1]},"b":{"data_offsets":[4,6],"dtype":"U16","shape":[1]}})";
  const std::size_t padded = (expected.size() + 7) / 8 * 8;
  EXPECT_EQ(bytes.size(), 8 + padded + 6);
  EXPECT_EQ(bytes[0], padded);
  EXPECT_EQ(std::string(bytes.begin() + 8, bytes.begin() + 8 + static_cast<std::ptrdiff_t>(padded)),
            expected + std::string(padded - expected.size(), ' '));
  EXPECT_EQ(Bytes(bytes.end() - 6, bytes.end()), (Bytes{0, 0, 0x80, 0x3f, 1, 2}));
}

TEST(Safetensors, FileEqualsMemory) {
  const std::string path =
      (std::filesystem::temp_directory_path() / fmt::format("assay_st_{}.safetensors", ::getpid())).string();
  Tensor a(DType::kF32, {5});
  const std::vector<TensorRef> refs = {{"a", &a}};
  ASSERT_TRUE(WriteSafetensors(path, refs, {{"x", "y"}}));
  {
    const auto file = Safetensors::Open(path);
    ASSERT_TRUE(file) << file.error().message;
    const Bytes bytes = EncodeSafetensors(refs, {{"x", "y"}}).value();
    EXPECT_TRUE(std::equal(bytes.begin(), bytes.end(), file->bytes().begin(), file->bytes().end()));
  }
  std::filesystem::remove(path);
  EXPECT_FALSE(Safetensors::Open(path));
  EXPECT_FALSE(WriteSafetensors("/nonexistent/x", refs));
}

TEST(Safetensors, WriterRefusesBadNames) {
  Tensor a(DType::kF32, {1});
  EXPECT_FALSE(EncodeSafetensors(std::vector<TensorRef>{{"a", &a}, {"a", &a}}));
  EXPECT_FALSE(EncodeSafetensors(std::vector<TensorRef>{{"", &a}}));
  EXPECT_FALSE(EncodeSafetensors(std::vector<TensorRef>{{"__metadata__", &a}}));
}

TEST(Safetensors, HalvesWidenExactly) {
  const std::uint16_t halves[] = {0x0000, 0x8000, 0x3c00, 0xc000, 0x7bff, 0x0001, 0x8001, 0x03ff, 0x0400, 0x7c00, 0xfc00};
  const float values[] = {0.0f,
                          -0.0f,
                          1.0f,
                          -2.0f,
                          65504.0f,
                          0x1p-24f,
                          -0x1p-24f,
                          0x1.ff8p-15f,
                          0x1p-14f,
                          std::numeric_limits<float>::infinity(),
                          -std::numeric_limits<float>::infinity()};
  ByteWriter data;
  for (std::uint16_t h : halves) data.U16(h);
  StoredTensor stored{"h", StoredType::kF16, {11}, data.bytes()};
  const Tensor wide = stored.Load().value();
  EXPECT_EQ(std::memcmp(wide.data(), values, sizeof(values)), 0);
  const Bytes brain = {0x80, 0x3f, 0x00, 0xc0};
  StoredTensor bf16{"b", StoredType::kBF16, {2}, brain};
  EXPECT_EQ(bf16.Load()->Span<float>()[0], 1.0f);
  EXPECT_EQ(bf16.Load()->Span<float>()[1], -2.0f);
  const Bytes eight(8);
  StoredTensor u64{"u", StoredType::kU64, {}, eight};
  EXPECT_EQ(u64.Load().error().message, "tensor 'u': element type U64 cannot be used");
}

TEST(Safetensors, AcceptsOtherWritersOrderAndTypes) {
  EXPECT_EQ(
      Refusal(
          R"({"b":{"dtype":"F16","shape":[2],"data_offsets":[0,4]},"a":{"dtype":"BOOL","shape":[],"data_offsets":[4,5]}}  )",
          5),
      "accepted");
  EXPECT_EQ(Refusal("{}", 0), "accepted");
}

TEST(Safetensors, RefusesHostileFiles) {
  EXPECT_EQ(Safetensors::Parse(Bytes{1, 2}, "f").error().message,
            "f: is not a safetensors file: it has 2 bytes, fewer than the length of a header takes");
  ByteWriter huge;
  huge.U64(~std::uint64_t{0});
  EXPECT_EQ(Safetensors::Parse(huge.bytes(), "f").error().message,
            "f: is not a safetensors file: it names a header of 18446744073709551615 bytes, at most 100000000 are allowed");
  ByteWriter beyond;
  beyond.U64(100);
  EXPECT_EQ(Safetensors::Parse(beyond.bytes(), "f").error().message, "f: header of 100 bytes, the file ends after 0");
  EXPECT_EQ(Refusal("", 0), "f: is not a safetensors file: its header does not begin with '{'");
  EXPECT_EQ(Refusal(" {}", 0), "f: is not a safetensors file: its header does not begin with '{'");
  EXPECT_EQ(Refusal("{", 0), "f: the header is not a JSON object");
  EXPECT_EQ(Refusal(R"({"a":1})", 0), "f: tensor 'a': expected an object with dtype, shape and data_offsets");
  const auto entry = [](const std::string& dtype, const std::string& shape, const std::string& offsets) {
    return fmt::format(R"("a":{{"dtype":{},"shape":{},"data_offsets":{}}})", dtype, shape, offsets);
  };
  const auto one = [&](const std::string& dtype, const std::string& shape, const std::string& offsets) {
    return fmt::format("{{{}}}", entry(dtype, shape, offsets));
  };
  EXPECT_EQ(Refusal(one("\"F32\"", "[1]", "[0,4]"), 4), "accepted");
  EXPECT_EQ(Refusal(one("\"F8\"", "[1]", "[0,4]"), 4), "f: tensor 'a': unknown dtype 'F8'");
  EXPECT_EQ(Refusal(one("7", "[1]", "[0,4]"), 4), "f: tensor 'a': expected a string as dtype");
  EXPECT_EQ(Refusal(one("\"F32\"", "[-1]", "[0,4]"), 4), "f: tensor 'a': expected extents that are integers >= 0");
  EXPECT_EQ(Refusal(one("\"F32\"", "[1.5]", "[0,4]"), 4), "f: tensor 'a': expected extents that are integers >= 0");
  EXPECT_EQ(Refusal(one("\"F32\"", "[1,1,1,1,1,1,1,1,1]", "[0,4]"), 4), "f: tensor 'a': expected a shape of at most 8 extents");
  EXPECT_EQ(Refusal(one("\"F32\"", "[4294967296,4294967296]", "[0,0]"), 0),
            "f: tensor 'a': expected a shape that fits the file");
  EXPECT_EQ(Refusal(one("\"F32\"", "[0,1099511627776,1099511627776]", "[0,0]"), 0),
            "f: tensor 'a': expected a shape that fits the file");
  EXPECT_EQ(Refusal(one("\"F32\"", "[1]", "[0,4,8]"), 4), "f: tensor 'a': expected two data_offsets");
  EXPECT_EQ(Refusal(one("\"F32\"", "[1]", "[4,0]"), 4), "f: tensor 'a': data_offsets 4 .. 0 lie outside the 4 bytes of data");
  EXPECT_EQ(Refusal(one("\"F32\"", "[1]", "[0,8]"), 4), "f: tensor 'a': data_offsets 0 .. 8 lie outside the 4 bytes of data");
  EXPECT_EQ(Refusal(one("\"F32\"", "[2]", "[0,4]"), 4), "f: tensor 'a': F32[2] takes 8 bytes, data_offsets give 4");
  EXPECT_EQ(Refusal(one("\"F32\"", "[1]", "[0,4]"), 5), "f: the tensors take 4 bytes of data, the file has 5");
  EXPECT_EQ(Refusal(one("\"F32\"", "[1]", "[4,8]"), 8), "f: the tensors' data leave a gap at byte 0");
  const std::string a = entry("\"F32\"", "[1]", "[0,4]");
  std::string b = a;
  b[1] = 'b';
  EXPECT_EQ(Refusal(fmt::format("{{{},{}}}", a, b), 4), "f: the tensors' data overlap at byte 4");
  EXPECT_EQ(Refusal(fmt::format("{{{},{}}}", a, a), 4), "f: the header has the key 'a' twice");
  EXPECT_EQ(Refusal(R"({"__metadata__":{"x":1}})", 0), "f: __metadata__: 'x': expected a string");
  EXPECT_EQ(Refusal(R"({"__metadata__":[]})", 0), "f: __metadata__: expected an object of strings");
  std::string deep = R"({"a":)";
  for (int i = 0; i < 100000; ++i) deep += "{\"a\":";
  EXPECT_NE(Refusal(deep, 0), "accepted");
  EXPECT_NE(Refusal(R"({"a":)" + std::string(100000, '['), 0), "accepted");
}

}  // namespace
}  // namespace assay
