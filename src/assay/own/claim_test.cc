#include "assay/own/claim.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "assay/own/distance.h"
#include "assay/own/lineage.h"

namespace assay::own {
namespace {

const Bytes kText = {1, 2, 3}, kMore = {4, 5};

OwnershipClaim Sample() {
  OwnershipClaim claim{.nonce = {7, 8}, .top = 2, .drawn = 4};
  claim.files = {{"id", kText},
                 {"job.bin", kMore},
                 {"log/checkpoint", kText},
                 {"log/tile/0/000.p/31", kMore},
                 {"log/tile/entries/x001/234", {}},
                 {"receipt.json", kText},
                 {"rounding/steps-0000000001-0000000010.bin", kMore},
                 {"snapshots/step-0000000010.safetensors", kText}};
  claim.stretches = {{{0, 5}, Chosen::kChange}, {{5, 10}, Chosen::kBoth}, {{20, 30}, Chosen::kDrawn}};
  claim.parents = {{kText, kMore, {}}};
  return claim;
}

TEST(Claim, ReadsBackWhatWasWritten) {
  const Bytes bytes = Encode(Sample());
  const auto claim = DecodeClaim(bytes, "claim");
  ASSERT_TRUE(claim) << claim.error().message;
  EXPECT_EQ(Encode(*claim), bytes);
  EXPECT_EQ(claim->files.size(), 8u);
  EXPECT_TRUE(std::ranges::equal(claim->Find("job.bin")->bytes, kMore));
  EXPECT_EQ(claim->Find("model.safetensors"), nullptr);
  EXPECT_EQ(claim->stretches[1].steps.end, 10);
  EXPECT_EQ(claim->parents.size(), 1u);
}

TEST(Claim, ReadsNothingElse) {
  const Bytes bytes = Encode(Sample());
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    EXPECT_FALSE(DecodeClaim(ByteSpan(bytes).first(i), "claim")) << i;
    Bytes other = bytes;
    other[i] ^= 0x41;
    const auto read = DecodeClaim(other, "claim");
    EXPECT_TRUE(!read || Encode(*read) == other) << i;
  }
  Bytes longer = bytes;
  longer.push_back(0);
  EXPECT_FALSE(DecodeClaim(longer, "claim"));
}

TEST(Claim, NamesLeadNowhereElse) {
  for (const char* bad :
       {"", "../id", "id/", "log/tile/../../id", "log/tile/", "log/tile//0", "log/tile//etc", "snapshots/step-1.safetensors",
        "snapshots/../id", "model.safetensors", "rounding/steps-1-2.bin", "log/tile/A", "lock"}) {
    EXPECT_FALSE(IsClaimedName(bad)) << bad;
  }
  EXPECT_FALSE(IsClaimedName("log/tile/" + std::string(300, '0')));
}

TEST(Claim, FilesAndStretchesAreInOrder) {
  OwnershipClaim claim = Sample();
  std::swap(claim.files[0], claim.files[1]);
  EXPECT_FALSE(DecodeClaim(Encode(claim), "claim"));
  claim = Sample();
  claim.files[1] = claim.files[0];
  EXPECT_FALSE(DecodeClaim(Encode(claim), "claim"));
  claim = Sample();
  claim.stretches[1].steps.begin = 4;  // overlaps
  EXPECT_FALSE(DecodeClaim(Encode(claim), "claim"));
  claim = Sample();
  claim.stretches[0].steps = {5, 5};
  EXPECT_FALSE(DecodeClaim(Encode(claim), "claim"));
}

TEST(Distance, IsInTheMeasuresThatTheRuleNames) {
  Tensor a(TensorType{DType::kF32, {2}}), b(TensorType{DType::kF32, {2}});
  a.Span<float>()[0] = 3;
  a.Span<float>()[1] = 0;
  b.Span<float>()[0] = 0;
  b.Span<float>()[1] = 4;
  const TensorRef left[] = {{"w", &a}}, right[] = {{"w", &b}};
  const Distance distance = DistanceOf(left, right);
  EXPECT_DOUBLE_EQ(distance.l1, 7);
  EXPECT_DOUBLE_EQ(distance.l2, 5);
  EXPECT_DOUBLE_EQ(distance.linf, 4);
  EXPECT_DOUBLE_EQ(distance.cosine, 1);
  EXPECT_DOUBLE_EQ(DistanceOf(left, left).cosine, 0);
}

TEST(Lineage, WithoutAReceiptTheStartIsNobodys) {
  const Lineage none = WalkLineage(HashBytes(kText), {});
  EXPECT_FALSE(none.complete);
  EXPECT_NE(none.problem.find("names no receipt"), std::string::npos);
  const Parent junk[] = {{kText, kMore, kText}};
  EXPECT_FALSE(WalkLineage(HashBytes(kText), junk).complete);
}

}  // namespace
}  // namespace assay::own
