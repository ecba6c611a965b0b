// Rounding logs that a run has signed for and that have gone bad on disk since: whoever has them signs nothing more, and nobody is guilty by them.
#include <gtest/gtest.h>

#include <algorithm>

#include "assay/base/file.h"
#include "assay/dispute/answerer.h"
#include "assay/run/fsck.h"
#include "conduct.h"
#include "disputes.h"
#include "forgeries.h"

namespace assay::roundtest {
namespace {

constexpr std::uint32_t kSeed = 31;

// What becomes of a file.
struct Rot {
  std::string what;
  std::function<Status(const std::string& path)> apply;
};

std::vector<Rot> RotsOf(const Bytes& content) {
  std::vector<Rot> rots = {{"deleted", [](const std::string& path) { return RemoveFile(path); }}};
  for (const std::size_t left : {std::size_t{0}, std::size_t{20}, content.size() / 2, content.size() - 1}) {
    rots.push_back({fmt::format("cut at byte {}", left),
                    [=](const std::string& path) { return WriteFileAtomic(path, ByteSpan(content).first(left)); }});
  }
  std::uint32_t state = kSeed;
  const auto next = [&] { return (state = state * 1664525u + 1013904223u) >> 8; };
  for (int i = 0; i < 12; ++i) {
    Bytes bytes = content;
    const std::size_t at = i < 4 ? bytes.size() - 1 - static_cast<std::size_t>(i) : next() % bytes.size();
    const auto bit = next() % 8;
    bytes[at] = static_cast<std::uint8_t>(bytes[at] ^ (1u << bit));
    rots.push_back({fmt::format("bit {} of byte {} flipped", bit, at),
                    [bytes](const std::string& path) { return WriteFileAtomic(path, bytes); }});
  }
  return rots;
}

class Rotten : public Disputes {
 protected:
  static std::string FirstBundle(const std::string& run) {
    std::vector<std::string> names = ListDirectory(run + "/rounding").value();
    std::ranges::sort(names);
    return run + "/rounding/" + names.front();
  }
  // All that its owner ever signed.
  static std::vector<Bytes> Signed(const std::string& run) {
    std::vector<Bytes> files;
    for (const char* name : {"/log/checkpoint", "/receipt.json"}) {
      files.push_back(Exists(run + name) ? ReadFile(run + name, 1 << 20).value() : Bytes());
    }
    return files;
  }
};

// A run that was interrupted, and one that is finished.
TEST_F(Rotten, ATrainerGoesNoFurther) {
  for (const std::int64_t every : {1, 3}) {
    const PreparedJob prepared = JobOf(kMlp, 32, every);
    for (const std::int64_t until : {std::int64_t{4}, prepared.job.steps}) {
      Machine machine(32), auditor(32, 2);
      const std::string left = scratch_ / fmt::format("left-{}-{}", every, until);
      ASSERT_TRUE(TrainIn(left, prepared, machine, until));
      const Bytes content = ReadFile(FirstBundle(left), 1 << 24).value();
      int tried = 0;
      for (const Rot& rot : RotsOf(content)) {
        SCOPED_TRACE(rot.what);
        const std::string path = fmt::format("{}-{}", left, tried++);
        std::filesystem::copy(left, path, std::filesystem::copy_options::recursive);
        const std::vector<Bytes> before = Signed(path);
        ASSERT_TRUE(rot.apply(FirstBundle(path)));
        const auto resumed = TrainIn(path, prepared, machine);
        ASSERT_FALSE(resumed) << "it went on from step " << resumed->first_step;
        EXPECT_NE(resumed.error().message.find("rounding"), std::string::npos) << resumed.error().message;
        EXPECT_NE(resumed.error().message.find("this copy is damaged"), std::string::npos) << resumed.error().message;
        EXPECT_EQ(Signed(path), before);
        EXPECT_EQ(Fsck(path, machine.pool, {}).value().verdict, FsckVerdict::kDamaged);
      }
      // What was left whole goes on, and is verified.
      ASSERT_TRUE(TrainIn(left, prepared, machine));
      EXPECT_EQ(AuditOf(left, prepared, auditor).verdict, Verdict::kVerified);
    }
  }
}

// An honest provider whose copy rots asks for time and signs nothing; against a liar it is silent, not guilty.
TEST_F(Rotten, AProviderSignsNothingByIt) {
  const PreparedJob prepared = JobOf(kMlp, 32, 3);
  Machine machine(32), crooked(32);
  const SigningKey key = KeyOf(7), referee = KeyOf(9);
  const std::string path = scratch_ / "honest";
  ASSERT_TRUE(TrainIn(path, prepared, machine, INT64_MAX, key));
  Forger forger(prepared, crooked, 2, Among(Updates, FarFromABoundary()));
  ASSERT_TRUE(forger.Train(scratch_ / "liar", KeyOf(8)));
  const RunDirectory honest = Run("honest"), lie = Run("liar");
  const attacks::Hooks hooks = forger.hooks();
  attacks::HooksConduct conduct(hooks, nullptr);
  const std::string bundle = FirstBundle(path);
  const Bytes content = ReadFile(bundle, 1 << 24).value();

  using dispute::TreeKind;
  const dispute::Question about[] = {
      dispute::LeavesQuestion{{.kind = TreeKind::kRoundings, .at = 1}, {{1, 2}}},
      dispute::LeavesQuestion{{.kind = TreeKind::kRoundingLog, .at = 2}, {{0, 1}}},
      dispute::CommitQuestion{{.kind = TreeKind::kStates, .at = 1}},
      dispute::CommitQuestion{{.kind = TreeKind::kTrace, .at = 2}},
  };
  for (const bool before : {true, false}) {  // the provider is started, or after it
    for (const Rot& rot : RotsOf(content)) {
      SCOPED_TRACE(fmt::format("{} {} it is provided", rot.what, before ? "before" : "after"));
      ASSERT_TRUE(WriteFileAtomic(bundle, content));
      if (before) {
        ASSERT_TRUE(rot.apply(bundle));
      }
      const auto account = RunAccount::Make(honest, prepared, *machine.backend, machine.pool, {}).value();
      const auto liar = RunAccount::Make(lie, prepared, *crooked.backend, crooked.pool, {}, &conduct).value();
      if (!before) {
        // What it had read by then was what the log commits to.
        ASSERT_TRUE(dispute::AnswerFrom(*account, about[1]));
        ASSERT_TRUE(
            dispute::AnswerFrom(*account, dispute::LeavesQuestion{{.kind = TreeKind::kRoundingLog, .at = 5}, {{0, 1}}}));
        ASSERT_TRUE(rot.apply(bundle));
      }
      const Digest own = HashBytes(AsBytes(account->receipt())), other = HashBytes(AsBytes(liar->receipt()));
      dispute::Opening opening{
          .referee = referee.verify_key().point(), .nonce = {}, .receipts = {own, other}, .shown = liar->receipt()};
      std::ranges::sort(opening.receipts, {}, &Digest::bytes);
      const dispute::Budget bout = account->Bill().value();
      dispute::Answerer answerer(*account, key,
                                 dispute::DocketOf(*account, {.bout = bout, .open_to_all = dispute::Times(100, bout)}).value());
      const auto id = answerer.Open(dispute::SignOpening(opening, referee));
      ASSERT_TRUE(id) << id.error().why;
      for (const dispute::Question& question : about) {
        const auto answer = answerer.Answer(dispute::SignQuestion(dispute::Encode(*id, question), own, referee));
        ASSERT_FALSE(answer) << "signed: " << dispute::Describe(question);
        EXPECT_EQ(answer.error().kind, dispute::Answerer::Failure::Kind::kFailed) << dispute::Describe(question);
      }
      for (const bool turned : {false, true}) {
        const Played played = turned ? PlayThem(prepared, *liar, *account) : PlayThem(prepared, *account, *liar);
        EXPECT_EQ(played.finding(), nullptr) << played.finding()->reason;
        EXPECT_FALSE(played.silent.empty());
      }
    }
  }
  // The same copy, mended, wins.
  ASSERT_TRUE(WriteFileAtomic(bundle, content));
  const auto account = RunAccount::Make(honest, prepared, *machine.backend, machine.pool, {}).value();
  const auto liar = RunAccount::Make(lie, prepared, *crooked.backend, crooked.pool, {}, &conduct).value();
  EXPECT_TRUE(Try(prepared, *account, *liar, 1));
}

}  // namespace
}  // namespace assay::roundtest
