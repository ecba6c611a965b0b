#include "assay/run/weights_root.h"

#include <gtest/gtest.h>

namespace assay {
namespace {

class WeightsRootTest : public testing::Test {
 protected:
  Digest OfFile(const std::map<std::string, std::string>& metadata = {}) {
    const Bytes bytes = EncodeSafetensors(weights_, metadata).value();
    return WeightsRoot(*Safetensors::Parse(bytes, "file"), pool_).value();
  }

  Tensor bias_{DType::kF32, {0}}, step_{DType::kI64, {}}, weight_{DType::kF32, {2, 3}};
  std::vector<TensorRef> weights_ = {{"bias", &bias_}, {"step", &step_}, {"weight", &weight_}};
  ThreadPool pool_{2};
};

// Computed from docs/formats/state.md by tests/vectors/state_root.py.
TEST_F(WeightsRootTest, Vector) {
  for (std::size_t i = 0; i < 24; ++i) static_cast<std::uint8_t*>(weight_.data())[i] = static_cast<std::uint8_t>(i);
  for (std::size_t i = 0; i < 8; ++i) static_cast<std::uint8_t*>(step_.data())[i] = static_cast<std::uint8_t>(i);
  EXPECT_EQ(WeightsRoot(weights_, pool_).hex(), "fbd3b1f779f8228e833564765db7816d0676201f3945cae70297784322c1018d");
}

TEST_F(WeightsRootTest, AFileHasTheRootOfItsTensorsWhateverItsMetadata) {
  const Digest root = WeightsRoot(weights_, pool_);
  EXPECT_EQ(OfFile(), root);
  EXPECT_EQ(OfFile({{"assay.val_loss_bits", "3f800000"}}), root);
  weight_.Span<float>()[5] = 1;
  EXPECT_NE(OfFile(), root);
}

TEST_F(WeightsRootTest, TypesThatNoStateHasAreAnError) {
  const std::string header = R"({"w":{"dtype":"BF16","shape":[1],"data_offsets":[0,2]}} )";
  ByteWriter out;
  out.U64(header.size());
  out.Raw(AsBytes(header));
  out.Raw(Bytes{0, 0});
  const auto root = WeightsRoot(*Safetensors::Parse(out.bytes(), "file"), pool_);
  ASSERT_FALSE(root);
  EXPECT_EQ(root.error().message, "file: tensor 'w': no state has the element type BF16");
}

}  // namespace
}  // namespace assay
