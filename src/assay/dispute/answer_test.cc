#include "assay/dispute/answer.h"

#include <gtest/gtest.h>

#include <functional>
#include <random>

#include "assay/data/root.h"
#include "assay/dispute/account.h"
#include "assay/merkle/tree.h"

namespace assay::dispute {
namespace {

constexpr std::size_t kMaxLeaf = 16384;
constexpr std::uint32_t kSeed = 20265;  // of everything random here

Bytes Random(std::size_t size, std::uint32_t seed = kSeed) {
  std::mt19937 random(seed);
  Bytes bytes(size);
  for (std::uint8_t& b : bytes) b = static_cast<std::uint8_t>(random());
  return bytes;
}

SigningKey Key(std::uint8_t first = 7) {
  ed25519::Seed seed{};
  seed[0] = first;
  return SigningKey("test", seed);
}

// An account of one tree, whose leaves are of many sizes.
class OneTree : public Account {
 public:
  explicit OneTree(std::size_t leaves) {
    Hashes hashes;
    for (std::size_t i = 0; i < leaves; ++i) {
      leaves_.push_back(Random(i * 37 % 300, static_cast<std::uint32_t>(i)));
      hashes.push_back(LeafHash(leaves_.back()));
    }
    tree_ = std::make_shared<const HashTree>(std::move(hashes));
  }
  const Bytes& job() const override { return nothing_; }
  const Bytes& program() const override { return nothing_; }
  const std::string& receipt() const override { return receipt_; }
  Result<std::shared_ptr<const HashTree>> Tree(const TreeName& tree) override {
    if (tree.at != 5) return Err("no such tree");
    return tree_;
  }
  Result<Bytes> Leaf(const TreeName&, std::uint64_t index) override { return leaves_.at(static_cast<std::size_t>(index)); }
  Result<SamplesAnswer> Samples(const SamplesQuestion&) override { return Err("no samples"); }
  Result<std::vector<ref::Value>> Parts(const PartsQuestion&) override { return std::vector<ref::Value>{3, 1, 4}; }
  const HashTree& tree() const { return *tree_; }
  std::vector<Bytes>& leaves() { return leaves_; }

 private:
  Bytes nothing_;
  std::string receipt_;
  std::vector<Bytes> leaves_;
  std::shared_ptr<const HashTree> tree_;
};

constexpr TreeName kTree{.kind = TreeKind::kTrace, .at = 5};

// Whether a reader survives every truncation and any change of one byte, and whatever it accepts is written the same again.
void ExpectCanonical(const Bytes& good, const std::function<Result<Bytes>(ByteSpan)>& again) {
  const auto same = again(good);
  ASSERT_TRUE(same) << same.error().message;
  ASSERT_EQ(*same, good);
  for (std::size_t size = 0; size < good.size(); ++size) {
    EXPECT_FALSE(again(ByteSpan(good).first(size))) << "cut to " << size << " of " << good.size();
  }
  Bytes longer = good;
  longer.push_back(0);
  EXPECT_FALSE(again(longer));
  for (std::size_t i = 0; i < good.size(); ++i) {
    for (const int flip : {0x01, 0x80, 0xff}) {
      Bytes changed = good;
      changed[i] ^= static_cast<std::uint8_t>(flip);
      ASSERT_EQ(again(changed).value_or(changed), changed) << "byte " << i;
    }
  }
}

TEST(Answer, HashesAndValues) {
  const Hashes hashes{HashBytes(AsBytes("a")), HashBytes(AsBytes("b")), Digest{}};
  ExpectCanonical(EncodeHashes(hashes),
                  [](ByteSpan body) { return ReadHashes(body, 3).map([](const Hashes& read) { return EncodeHashes(read); }); });
  EXPECT_FALSE(ReadHashes(EncodeHashes(hashes), 2));
  EXPECT_FALSE(ReadHashes(EncodeHashes(hashes), 4));
  EXPECT_FALSE(ReadHashes(EncodeHashes(hashes), SIZE_MAX));
  EXPECT_TRUE(ReadHashes({}, 0));

  const std::vector<ref::Value> values{0, 1, 0x7fc00000, 0xffffffff};
  ExpectCanonical(EncodeValues(values), [](ByteSpan body) {
    return ReadValues(body, 4).map([](const std::vector<ref::Value>& read) { return EncodeValues(read); });
  });
  EXPECT_FALSE(ReadValues(EncodeValues(values), 3));
  EXPECT_FALSE(ReadValues(EncodeValues(values), SIZE_MAX));
}

TEST(Answer, LeavesOfAnySpansProveThemselves) {
  for (const std::size_t size : {std::size_t{1}, std::size_t{2}, std::size_t{7}, std::size_t{64}, std::size_t{131}}) {
    OneTree account(size);
    std::mt19937 random(kSeed);
    for (int round = 0; round < 20; ++round) {
      LeavesQuestion question{.tree = kTree, .spans = {}};
      for (std::uint64_t at = random() % size; at < size && question.spans.size() < 5; at += random() % 9 + 1) {
        const std::uint64_t end = std::min<std::uint64_t>(size, at + random() % 3 + 1);
        question.spans.push_back({at, end});
        at = end;
      }
      const auto body = AnswerFrom(account, question);
      ASSERT_TRUE(body) << body.error().message;
      const auto spans = OpenLeaves(*body, question, size, kMaxLeaf, account.tree().root());
      ASSERT_TRUE(spans) << spans.error().message;
      ASSERT_EQ(spans->size(), question.spans.size());
      for (std::size_t s = 0; s < spans->size(); ++s) {
        for (std::size_t i = 0; i < (*spans)[s].leaves.size(); ++i) {
          EXPECT_EQ((*spans)[s].leaves[i], account.leaves()[question.spans[s].begin + i]);
        }
      }
      EXPECT_FALSE(OpenLeaves(*body, question, size, kMaxLeaf, HashBytes({})));
      EXPECT_FALSE(ReadLeaves(*body, question, question.spans.back().end - 1, kMaxLeaf));
    }
  }
}

TEST(Answer, LeavesAreReadInOneWay) {
  OneTree account(9);
  const LeavesQuestion question{.tree = kTree, .spans = {{0, 2}, {5, 6}}};
  const Bytes body = *AnswerFrom(account, question);
  ExpectCanonical(body, [&](ByteSpan bytes) {
    return ReadLeaves(bytes, question, 9, kMaxLeaf).map([](const std::vector<SpanProof>& read) { return EncodeLeaves(read); });
  });
  // What is another byte is another leaf or another hash: the root notices.
  for (std::size_t i = 0; i < body.size(); ++i) {
    Bytes changed = body;
    changed[i] ^= 0x10;
    EXPECT_FALSE(OpenLeaves(changed, question, 9, kMaxLeaf, account.tree().root())) << "byte " << i;
  }
}

TEST(Answer, LeavesHaveABound) {
  const LeavesQuestion question{.tree = kTree, .spans = {{0, 1}}};
  const auto body = [](std::size_t size) { return EncodeLeaves({{SpanProof{.leaves = {Bytes(size)}, .proof = {}}}}); };
  EXPECT_TRUE(ReadLeaves(body(kMaxLeaf), question, 1, kMaxLeaf));
  EXPECT_FALSE(ReadLeaves(body(kMaxLeaf + 1), question, 1, kMaxLeaf));
  ByteWriter huge;
  huge.U64(UINT64_MAX);
  EXPECT_FALSE(ReadLeaves(huge.bytes(), question, 1, kMaxLeaf));
  EXPECT_FALSE(ReadLeaves(body(1), question, UINT64_MAX, kMaxLeaf));
}

SamplesAnswer Example() {
  return {.descriptor = TokensDescriptor{5000},
          .proof = {{.root = HashBytes(AsBytes("tokens")),
                     .runs = {{.bytes = Random(100), .proof = {HashBytes(AsBytes("l")), HashBytes(AsBytes("r"))}},
                              {.bytes = Random(3), .proof = {}}}}}};
}

TEST(Answer, SamplesAreReadInOneWay) {
  const auto again = [](ByteSpan body) {
    return ReadSamples(body, kMaxBodyBytes).map([](const SamplesAnswer& read) { return EncodeSamples(read); });
  };
  ExpectCanonical(EncodeSamples(Example()), again);
  const GeneratedDescriptor generated{.begin = 0, .end = 90, .classes = 4, .features = 16, .noise = 0.5f, .seed = 77};
  ExpectCanonical(EncodeSamples({.descriptor = generated, .proof = {}}), again);
}

TEST(Answer, SamplesOfImpossibleDataAreRefused) {
  SamplesAnswer answer = Example();
  answer.descriptor = TokensDescriptor{-1};
  EXPECT_FALSE(ReadSamples(EncodeSamples(answer), kMaxBodyBytes));
  answer.descriptor = CifarDescriptor{INT64_MAX};
  EXPECT_FALSE(ReadSamples(EncodeSamples(answer), kMaxBodyBytes));
  answer = Example();
  answer.proof[0].runs[0].proof.resize(125);
  EXPECT_FALSE(ReadSamples(EncodeSamples(answer), kMaxBodyBytes));
  // Counts that the body cannot hold: of the descriptor's bytes, of runs, of a run's bytes.
  const Bytes descriptor = assay::Encode(Example().descriptor);
  for (int field = 0; field < 3; ++field) {
    ByteWriter out;
    if (field == 0) {
      out.U64(UINT64_MAX);
    } else {
      out.Blob(descriptor);
      out.Raw(Digest{}.bytes);
      out.U32(field == 1 ? UINT32_MAX : 1);
      out.U64(UINT64_MAX);
      out.U32(0);
    }
    EXPECT_FALSE(ReadSamples(out.bytes(), kMaxBodyBytes)) << field;
  }
}

TEST(Answer, WireForm) {
  const SigningKey key = Key();
  const Bytes question = Random(50);
  const auto again = [](ByteSpan bytes) { return DecodeAnswer(bytes).map([](const Answer& read) { return Encode(read); }); };
  const Answer answer = Sign(question, Random(40), key);
  ExpectCanonical(Encode(answer), again);
  EXPECT_EQ(*DecodeAnswer(Encode(answer)), answer);
  const Answer largest = Sign(question, Bytes(kMaxBodyBytes), key);
  EXPECT_LE(Encode(largest).size(), kMaxAnswerBytes);
  EXPECT_TRUE(DecodeAnswer(Encode(largest)));
  Answer larger = largest;
  larger.body.resize(kMaxAnswerBytes);
  EXPECT_FALSE(DecodeAnswer(Encode(larger)));
}

TEST(Answer, SignatureBindsQuestionAndBody) {
  const SigningKey key = Key();
  const Bytes question = Random(50);
  const Answer answer = Sign(question, {'n', 'o'}, key);
  EXPECT_TRUE(IsSignedBy(answer, question, key.verify_key()));
  EXPECT_FALSE(IsSignedBy(answer, question, Key(8).verify_key()));
  for (std::size_t i = 0; i < question.size(); ++i) {
    Bytes other = question;
    other[i] ^= 1;
    EXPECT_FALSE(IsSignedBy(answer, other, key.verify_key()));
  }
  Answer changed = answer;
  changed.body[0] ^= 1;
  EXPECT_FALSE(IsSignedBy(changed, question, key.verify_key()));
  // The message is the documented one.
  ByteWriter message;
  message.Raw(AsBytes("assay/answer/2\n"));
  message.Raw(HashBytes(question).bytes);
  message.Raw(HashBytes(answer.body).bytes);
  EXPECT_TRUE(key.verify_key().Verify(message.bytes(), answer.signature));
}

TEST(AnswerFrom, HashesOfTheTree) {
  OneTree account(131);
  const auto committed = AnswerFrom(account, CommitQuestion{kTree});
  ASSERT_TRUE(committed) << committed.error().message;
  EXPECT_EQ(ReadHashes(*committed, 1)->front(), account.tree().root());
  const LeafSpan all{0, 131};
  const auto expanded = AnswerFrom(account, ExpandQuestion{kTree, all});
  ASSERT_TRUE(expanded) << expanded.error().message;
  const Hashes hashes = *ReadHashes(*expanded, Frontier(all, kExpandLevels).size());
  EXPECT_EQ(JoinFrontier(all, kExpandLevels, hashes), account.tree().root());
  EXPECT_EQ(*AnswerFrom(account, PartsQuestion{}), EncodeValues({{3, 1, 4}}));
}

TEST(AnswerFrom, RefusesWhatTheTreeDoesNotHave) {
  OneTree account(131);
  const std::vector<Question> bad = {
      CommitQuestion{{.kind = TreeKind::kTrace, .at = 6}},
      CommitQuestion{{.kind = TreeKind::kLog, .at = 5}},
      ExpandQuestion{kTree, {0, 132}},
      ExpandQuestion{kTree, {1, 3}},
      ExpandQuestion{kTree, {128, UINT64_MAX}},
      LeavesQuestion{kTree, {{0, 1}, {130, 132}}},
      LeavesQuestion{kTree, {{200, 201}}},
      LeavesQuestion{kTree, {{5, 4}}},
      SamplesQuestion{},
  };
  for (const Question& question : bad) EXPECT_FALSE(AnswerFrom(account, question)) << Describe(question);
}

TEST(AnswerFrom, RefusesWhatIsTooLong) {
  OneTree account(131);
  account.leaves()[3].resize(kMaxBodyBytes);
  const auto body = AnswerFrom(account, LeavesQuestion{kTree, {{3, 4}}});
  ASSERT_FALSE(body);
  EXPECT_NE(body.error().message.find("at most"), std::string::npos) << body.error().message;
}

}  // namespace
}  // namespace assay::dispute
