#include "assay/data/arrays.h"

#include <gtest/gtest.h>

#include <limits>
#include <numeric>

#include "assay/base/file.h"
#include "assay/data/open.h"
#include "assay/data/root.h"
#include "support/array_bytes.h"
#include "support/scratch.h"

namespace assay {
namespace {

using testkit::Npy;
using testkit::Zip;

constexpr std::int64_t kCount = 10, kHeight = 3, kWidth = 5, kChannels = 2;

Bytes Pixels() {
  Bytes bytes(static_cast<std::size_t>(kCount * kHeight * kWidth * kChannels));
  std::iota(bytes.begin(), bytes.end(), std::uint8_t{0});
  return bytes;
}

Bytes Floats(const std::vector<float>& values) {
  ByteWriter out;
  for (float v : values) out.F32(v);
  return out.Take();
}

Bytes Labels(std::int64_t classes) {
  ByteWriter out;
  for (std::int64_t i = 0; i < kCount; ++i) out.I64(i % classes);
  return out.Take();
}

// A .npz file of these inputs and ten labels of four classes.
class Files {
 public:
  std::string Write(const Bytes& inputs, const Bytes& labels = Npy("<i8", "(10,)", Labels(4))) {
    const std::string path = folder_ / "data.npz";
    EXPECT_TRUE(WriteFileAtomic(path, Zip({{.name = "x.npy", .bytes = inputs}, {.name = "y.npy", .bytes = labels}})));
    return path;
  }
  const testkit::Scratch& folder() const { return folder_; }

 private:
  testkit::Scratch folder_;
};

DataConfig Config(std::string path, ArrayLayout layout = ArrayLayout::kFlat) {
  DataConfig config{.kind = DataKind::kArrays, .path = std::move(path), .augment = false};
  config.layout = layout;
  return config;
}

std::string ErrorOf(const DataConfig& config) {
  const auto data = OpenData(config, 0);
  if (data) return "accepted";
  const std::string& message = data.error().message;
  const std::size_t file = message.find("data.npz: ");
  return file == std::string::npos ? message : message.substr(file + 10);
}

TEST(Arrays, BytesAreSharesOf255InTheOrderOfTheFile) {
  Files files;
  const auto data = OpenData(Config(files.Write(Npy("|u1", "(10, 3, 5, 2)", Pixels()))), 0);
  ASSERT_TRUE(data) << data.error().message;
  EXPECT_EQ(data->shape.features, 30);
  EXPECT_EQ(data->shape.classes, 4);
  EXPECT_EQ(data->train->samples(), 9);
  EXPECT_EQ(data->validation->samples(), 1);
  auto batch = MakeBatch(data->train->fields(), 2);
  data->train->Load(3, {}, 1, batch);
  EXPECT_EQ(batch[0].shape(), (Shape{2, 30}));
  for (std::size_t i = 0; i < 30; ++i) EXPECT_EQ(batch[0].Span<float>()[30 + i], static_cast<float>(90 + i) / 255.0f);
  EXPECT_EQ(batch[1].Span<std::int32_t>()[1], 3);
}

// Both layouts of the same images give the same samples, of any height and width.
TEST(Arrays, LayoutsOfImages) {
  Files files;
  const Bytes pixels = Pixels();
  Bytes planes(pixels.size());
  for (std::int64_t n = 0; n < kCount; ++n) {
    for (std::int64_t p = 0; p < kHeight * kWidth; ++p) {
      for (std::int64_t c = 0; c < kChannels; ++c) {
        planes[static_cast<std::size_t>((n * kChannels + c) * kHeight * kWidth + p)] =
            pixels[static_cast<std::size_t>((n * kHeight * kWidth + p) * kChannels + c)];
      }
    }
  }
  const auto last = OpenData(Config(files.Write(Npy("|u1", "(10, 3, 5, 2)", pixels)), ArrayLayout::kNhwc), 0);
  const auto first = OpenData(Config(files.Write(Npy("|u1", "(10, 2, 3, 5)", planes)), ArrayLayout::kNchw), 0);
  ASSERT_TRUE(last) << last.error().message;
  ASSERT_TRUE(first) << first.error().message;
  for (const Data* data : {&*last, &*first}) {
    EXPECT_EQ(data->shape.height, kHeight);
    EXPECT_EQ(data->shape.width, kWidth);
    EXPECT_EQ(data->shape.channels, kChannels);
  }
  auto a = MakeBatch(last->train->fields(), 1), b = MakeBatch(first->train->fields(), 1);
  last->train->Load(7, {}, 0, a);
  first->train->Load(7, {}, 0, b);
  EXPECT_TRUE(std::ranges::equal(a[0].bytes(), b[0].bytes()));
  EXPECT_NE(last->root, first->root);  // what is committed to is what lies in the file
  EXPECT_EQ(ErrorOf(Config(files.Write(Npy("|u1", "(10, 30)", pixels)), ArrayLayout::kNhwc)),
            "data: samples of shape [30] are not images, expected [H, W] or [H, W, C]");
}

TEST(Arrays, ImagesAreShiftedAndMirroredByTheirOwnWidth) {
  Files files;
  DataConfig config = Config(files.Write(Npy("|u1", "(10, 3, 10)", Pixels())), ArrayLayout::kNchw);
  config.augment = true;
  const auto data = OpenData(config, 0);
  ASSERT_TRUE(data) << data.error().message;
  auto plain = MakeBatch(data->train->fields(), 1), varied = MakeBatch(data->train->fields(), 1);
  data->train->Load(2, {.train = false}, 0, plain);
  int moved = 0;
  for (std::int64_t position = 0; position < 64; ++position) {
    data->train->Load(2, {.seed = 5, .step = 1, .position = position}, 0, varied);
    // Some shift and side explains every pixel.
    int explained = 0;
    for (int mirror = 0; mirror < 2; ++mirror) {
      for (std::int64_t dy = -4; dy <= 4; ++dy) {
        for (std::int64_t dx = -4; dx <= 4; ++dx) {
          bool all = true;
          for (std::int64_t i = 0; i < 30 && all; ++i) {
            const std::int64_t y = i / 10 + dy, x = (mirror != 0 ? 9 - i % 10 : i % 10) + dx;
            const bool inside = y >= 0 && y < 3 && x >= 0 && x < 10;
            const float want = inside ? plain[0].Span<float>()[static_cast<std::size_t>(y * 10 + x)] : 0.0f;
            all = varied[0].Span<float>()[static_cast<std::size_t>(i)] == want;
          }
          explained += all ? 1 : 0;
        }
      }
    }
    EXPECT_GE(explained, 1) << position;
    moved += std::ranges::equal(varied[0].bytes(), plain[0].bytes()) ? 0 : 1;
  }
  EXPECT_GT(moved, 50);
}

// The root is of the arrays, not of the file that they came in, nor of the type that labels and numbers had there.
TEST(Arrays, RootIsThatOfTheArrays) {
  Files files;
  std::vector<float> values(20);
  std::iota(values.begin(), values.end(), -3.5f);
  const Digest root = OpenData(Config(files.Write(Npy("<f4", "(10, 2)", Floats(values)))), 0)->root;
  ByteWriter doubles, words;
  for (float v : values) doubles.F64(v);
  for (std::uint32_t i = 0; i < 10; ++i) words.U32(i % 4);
  const std::string path = files.Write(Npy("<f8", "(10, 2)", doubles.bytes()), Npy("<u4", "(10,)", words.bytes()));
  EXPECT_EQ(OpenData(Config(path), 0)->root, root);
  const std::string folder = files.folder().path();
  ASSERT_TRUE(WriteFileAtomic(JoinPath(folder, "x.npy"), Npy("<f4", "(10, 2)", Floats(values))));
  ASSERT_TRUE(WriteFileAtomic(JoinPath(folder, "y.npy"), Npy("<i8", "(10,)", Labels(4))));
  EXPECT_EQ(OpenData(Config(folder), 0)->root, root);
  EXPECT_EQ(OpenData(Config(folder, ArrayLayout::kFlat), 0)->root, root);
  values[3] = 0;
  EXPECT_NE(OpenData(Config(files.Write(Npy("<f4", "(10, 2)", Floats(values)))), 0)->root, root);
}

TEST(Arrays, RefusesWhatCannotBeTrainedOn) {
  Files files;
  const Bytes good = Npy("|u1", "(10, 30)", Pixels());
  EXPECT_EQ(ErrorOf(Config("")),
            "data.path: expected a .npz or safetensors file with arrays 'x' and 'y', or a folder with x.npy and y.npy");
  std::vector<float> values(20, 1.0f);
  values[7] = std::numeric_limits<float>::infinity();
  EXPECT_EQ(ErrorOf(Config(files.Write(Npy("<f4", "(10, 2)", Floats(values))))),
            "x: element 7 is not a finite binary32 number");
  ByteWriter large;
  for (int i = 0; i < 10; ++i) large.F64(i == 2 ? 1e300 : 0.0);
  EXPECT_EQ(ErrorOf(Config(files.Write(Npy("<f8", "(10, 1)", large.bytes())))), "x: element 2 is not a finite binary32 number");
  EXPECT_EQ(ErrorOf(Config(files.Write(Npy("<i4", "(10, 2)", Bytes(80, 0))))),
            "x: is i32, expected u8, f16, bf16, f32 or f64; save x.astype(\"float32\")");
  EXPECT_EQ(ErrorOf(Config(files.Write(good, Npy("<f4", "(10,)", Bytes(40, 0))))),
            "y: labels are f32, expected u8, u16, u32, i32 or i64; save y.astype(\"int64\")");
  EXPECT_EQ(ErrorOf(Config(files.Write(Npy("<f4", "(10,)", Bytes(40, 0)), Npy("|u1", "(10,)", Bytes(10, 0))))),
            "inputs x have shape [10], expected [10, ...], one sample for each label; one number per sample is [10, 1]");
  EXPECT_EQ(ErrorOf(Config(files.Write(good, Npy("|u1", "(9,)", Bytes(9, 0))))),
            "inputs x have shape [10, 30], expected [9, ...], one sample for each label");
  EXPECT_EQ(ErrorOf(Config(files.Write(good, Npy("|u1", "(10, 1)", Bytes(10, 0))))),
            "labels y have shape [10, 1], expected [N], one for each sample");
  EXPECT_EQ(ErrorOf(Config(files.Write(Npy("|u1", "(0, 3)", {}), Npy("|u1", "(0,)", {})))),
            "inputs x have shape [0, 3], expected at least one element");
  ByteWriter negative;
  for (int i = 0; i < 10; ++i) negative.I64(i == 4 ? -1 : 0);
  EXPECT_EQ(ErrorOf(Config(files.Write(good, Npy("<i8", "(10,)", negative.bytes())))),
            "y: label -1 of sample 4, expected 0 .. 1048575");
  DataConfig all = Config(files.Write(good));
  all.validation = 0.01f;
  EXPECT_EQ(ErrorOf(all), "expected enough samples to split with data.validation = 0.01, got 10");
}

// Bytes that a proof has shown to be the data's are still anybody's: what opening refuses, decoding refuses.
TEST(Arrays, DecoderRefusesWhatOpeningDoes) {
  const auto decoder = SampleDecoder::Make(ArraysDescriptor{1, DType::kF32, {2}}, {}).value();
  auto batch = MakeBatch(decoder->fields(), 1);
  const auto decode = [&](const Bytes& inputs, std::uint32_t label) {
    ByteWriter out;
    out.U32(label);
    const ByteSpan sources[] = {inputs, out.bytes()};
    return decoder->Decode(0, {}, sources, 0, batch).has_value();
  };
  EXPECT_TRUE(decode(Floats({1, -0.0f}), 1048575));
  EXPECT_FALSE(decode(Floats({1, 2}), 1048576));
  EXPECT_FALSE(decode(Floats({1, 2}), 0xffffffffu));
  EXPECT_FALSE(decode(Floats({std::numeric_limits<float>::quiet_NaN(), 2}), 0));
}

TEST(Descriptor, ArraysReadBack) {
  const ArraysDescriptor good{7, DType::kU8, {3, 5, 2}};
  const Bytes encoded = Encode(DataDescriptor(good));
  EXPECT_EQ(std::get<ArraysDescriptor>(DecodeDescriptor(encoded, "d").value()), good);
  for (std::size_t i = 0; i < encoded.size(); ++i) {
    EXPECT_FALSE(DecodeDescriptor(ByteSpan(encoded).first(i), "d")) << i;
    Bytes other = encoded;
    other[i] ^= 0x80;
    const auto read = DecodeDescriptor(other, "d");
    EXPECT_TRUE(!read || Encode(*read) == other) << i;
  }
  EXPECT_FALSE(Check(DataDescriptor(ArraysDescriptor{7, DType::kI32, {3}})));
  EXPECT_FALSE(Check(DataDescriptor(ArraysDescriptor{7, DType::kF32, {}})));
  EXPECT_FALSE(Check(DataDescriptor(ArraysDescriptor{7, DType::kF32, {1 << 13, 1 << 12}})));
  EXPECT_FALSE(Check(DataDescriptor(ArraysDescriptor{std::int64_t{1} << 40, DType::kF32, {1 << 12}})));
  EXPECT_FALSE(Check(DataDescriptor(ArraysDescriptor{0, DType::kF32, {1}})));
}

}  // namespace
}  // namespace assay
