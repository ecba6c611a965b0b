#include "assay/train/starting_weights.h"

#include <gtest/gtest.h>

#include "support/scratch.h"

namespace assay {
namespace {

Digest IdentityAt(const std::string& path) {
  Allowance everything;
  return IdentityOf(WeightFiles::Open(path).value(), everything).value();
}

TEST(StartingWeights, OneFileIsItsHashWhereverItLies) {
  const testkit::Scratch scratch;
  const Tensor tensor(DType::kF32, {3});
  const std::vector<TensorRef> refs = {{"a", &tensor}};
  const std::string file = scratch / "model.safetensors";
  ASSERT_TRUE(WriteSafetensors(file, refs));
  EXPECT_EQ(IdentityAt(file), HashBytes(ReadFile(file, 1 << 20).value()));
  EXPECT_EQ(IdentityAt(scratch.path()), IdentityAt(file));
}

// As docs/formats/job.md has it.
TEST(StartingWeights, SeveralFilesAreTheirHashesInTheOrderOfNames) {
  const testkit::Scratch scratch;
  const Tensor one(DType::kF32, {3}), two(DType::kF32, {4});
  const std::vector<TensorRef> first = {{"b", &one}}, second = {{"a", &two}};
  ASSERT_TRUE(WriteSafetensors(scratch / "1.safetensors", first));
  ASSERT_TRUE(WriteSafetensors(scratch / "2.safetensors", second));
  ASSERT_TRUE(
      WriteFileAtomic(scratch / kWeightsIndex, AsBytes(R"({"weight_map": {"a": "2.safetensors", "b": "1.safetensors"}})")));
  const Digest identity = IdentityAt(scratch.path());
  ByteWriter out;
  out.U32(15);
  out.Raw(AsBytes("assay/weights/1"));
  out.U64(2);
  for (const char* name : {"1.safetensors", "2.safetensors"})
    out.Raw(HashBytes(ReadFile(scratch / name, 1 << 20).value()).bytes);
  EXPECT_EQ(identity, HashBytes(out.bytes()));
  ASSERT_TRUE(WriteFileAtomic(
      scratch / kWeightsIndex,
      AsBytes(R"({"metadata": {"total_size": 28}, "weight_map": {"a": "2.safetensors", "b": "1.safetensors"}})")));
  EXPECT_EQ(IdentityAt(scratch.path()), identity) << "the index does not count";
}

}  // namespace
}  // namespace assay
