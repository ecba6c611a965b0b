#include "assay/data/pack.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <numeric>

#include "assay/base/file.h"
#include "assay/data/bpe.h"
#include "assay/data/open.h"
#include "assay/data/packed_file.h"
#include "support/array_bytes.h"
#include "support/scratch.h"

namespace assay {
namespace {

using Ids = std::vector<std::uint16_t>;

std::string VectorFolder() {
  return (std::filesystem::path(__FILE__).parent_path() / "../../../tests/vectors/bpe").lexically_normal().string();
}

class Packing : public testing::Test {
 protected:
  std::string Write(const std::string& name, const std::string& bytes) const {
    const std::filesystem::path path = scratch_ / name;
    std::filesystem::create_directories(path.parent_path());
    std::ofstream(path, std::ios::binary) << bytes;
    return path.string();
  }

  Result<PackReport> Run(PackOptions options, const PackHooks& hooks = {}, int threads = 2) const {
    if (options.out.empty()) options.out = scratch_ / "out.pack";
    ThreadPool pool(threads);
    return Pack(options, pool, hooks);
  }
  std::shared_ptr<const PackedFile> Open(const std::string& name = "out.pack") const {
    Allowance everything;
    auto file = PackedFile::Open(scratch_ / name, everything);
    EXPECT_TRUE(file) << file.error().message;
    return *file;
  }
  Ids Tokens(const std::string& name = "out.pack") const {
    const auto file = Open(name);
    Ids ids(static_cast<std::size_t>(file->items()));
    std::memcpy(ids.data(), file->bytes("tokens").data(), 2 * ids.size());
    return ids;
  }
  std::vector<std::uint64_t> Ends(const std::string& name = "out.pack") const {
    const auto file = Open(name);
    const ByteSpan bytes = file->bytes("documents");
    std::vector<std::uint64_t> ends(bytes.size() / 8);
    std::memcpy(ends.data(), bytes.data(), bytes.size());
    return ends;
  }
  Bytes All(const std::string& name) const { return ReadFile(scratch_ / name, 1 << 26).value(); }

  // Words, white space and other characters, some of them wide.
  static std::string LongText(std::size_t size) {
    std::string text;
    for (std::uint32_t i = 0; text.size() < size; i = i * 1664525 + 1013904223) {
      text += i >> 30 == 0 ? "the " : i >> 30 == 1 ? fmt::format("{}\n", i >> 20) : i >> 30 == 2 ? " caf\xc3\xa9's" : "ing, ";
    }
    return text;
  }

  testkit::Scratch scratch_;
};

TEST_F(Packing, BytesOfATextAreItsTokens) {
  const auto report = Run({.inputs = {Write("a.txt", "hello\n")}});
  ASSERT_TRUE(report) << report.error().message;
  EXPECT_EQ(Tokens(), (Ids{'h', 'e', 'l', 'l', 'o', '\n'}));
  EXPECT_EQ(Ends(), (std::vector<std::uint64_t>{6}));
  EXPECT_EQ(report->items, 6);
  EXPECT_EQ(report->limit, 256);
  EXPECT_EQ(report->documents, 1);
  EXPECT_EQ(report->root, Open()->header().root());
  EXPECT_FALSE(IsTaken(scratch_ / "out.pack.partial"));
  EXPECT_EQ(report->file_bytes, std::filesystem::file_size(scratch_ / "out.pack"));
}

TEST_F(Packing, WalksFoldersInTheOrderOfTheirNamesAndSkipsLinks) {
  Write("in/b.txt", "b");
  Write("in/a/z.txt", "z");
  Write("in/a.txt", "a");
  Write("in/empty.txt", "");
  std::filesystem::create_symlink(scratch_ / "in/b.txt", scratch_ / "in/link.txt");
  const auto report = Run({.inputs = {Write("z.txt", "1"), scratch_ / "in"}, .end_of_text = 256});
  ASSERT_TRUE(report) << report.error().message;
  // "a.txt" comes before "a/z.txt".
  EXPECT_EQ(Tokens(), (Ids{'1', 256, 'a', 256, 'z', 256, 'b', 256}));
  EXPECT_EQ(Ends(), (std::vector<std::uint64_t>{2, 4, 6, 8}));
  EXPECT_EQ(report->skipped, 1);
  EXPECT_EQ(report->empty, 1);
  EXPECT_EQ(report->files, 5);
  EXPECT_EQ(report->limit, 257);
}

TEST_F(Packing, TakesTheFieldOfJsonLines) {
  const std::string lines = Write("a.jsonl", "{\"body\":\"x\\u0041\"}\n\n{\"id\":1,\"body\":\"\"}\n{\"body\":\"yz\"}");
  const auto report = Run({.inputs = {lines}, .field = "body", .end_of_text = 0});
  ASSERT_TRUE(report) << report.error().message;
  EXPECT_EQ(Tokens(), (Ids{'x', 'A', 0, 'y', 'z', 0}));
  EXPECT_EQ(report->documents, 2);
  EXPECT_EQ(report->empty, 1);
  EXPECT_EQ(Run({.inputs = {lines}, .out = scratch_ / "other"}).error().message,
            lines + ": the line at byte 0: has no field 'text'");
  const std::string broken = Write("b.jsonl", "{\"text\":\"x\"}\n{\"text\":\"y}\n");
  EXPECT_EQ(Run({.inputs = {broken}, .out = scratch_ / "another"}).error().message,
            broken + ": the line at byte 13: expected the end of a text at byte 11 of the line");
}

TEST_F(Packing, PairsOfBytesAreThoseOfTheVocabulary) {
  const std::string text = LongText(5000);
  const auto report = Run({.inputs = {Write("a.txt", text)}, .vocabulary = VectorFolder()});
  ASSERT_TRUE(report) << report.error().message;
  Allowance everything;
  const auto tokenizer = BpeTokenizer::Open(VectorFolder(), everything).value();
  Ids expected = tokenizer->Encode(text).value();
  if (const auto end = tokenizer->Find("<|endoftext|>")) expected.push_back(*end);
  EXPECT_EQ(Tokens(), expected);
  EXPECT_EQ(report->limit, tokenizer->vocabulary());
  const auto own = Open()->MakeTokenizer(everything);
  ASSERT_TRUE(own) << own.error().message;
  EXPECT_EQ((*own)->Encode("the cat").value(), tokenizer->Encode("the cat").value());
  EXPECT_TRUE(Open()->CheckRest(everything));
}

TEST_F(Packing, TokensAreTakenAsTheyAre) {
  const std::string one = Write("1.bin", std::string("\x01\x00\xff\x01", 4)), two = Write("2.bin", std::string("\x07\x00", 2));
  const auto report = Run({.kind = PackKind::kTokens, .inputs = {two, one}});
  ASSERT_TRUE(report) << report.error().message;
  EXPECT_EQ(Tokens(), (Ids{7, 1, 511}));
  EXPECT_EQ(Ends(), (std::vector<std::uint64_t>{1, 3}));
  EXPECT_EQ(report->limit, 512);
  const auto small = Run({.kind = PackKind::kTokens, .inputs = {one}, .out = scratch_ / "v", .vocabulary = VectorFolder()});
  EXPECT_TRUE(small) << small.error().message;
  const std::string large = Write("3.bin", "\xff\xff");
  EXPECT_EQ(
      Run({.kind = PackKind::kTokens, .inputs = {large}, .out = scratch_ / "w", .vocabulary = VectorFolder()}).error().message,
      "--vocabulary: has 556 tokens, and the largest of those to pack is 65535");
  const std::string odd = Write("odd.bin", "abc");
  EXPECT_EQ(Run({.kind = PackKind::kTokens, .inputs = {odd}, .out = scratch_ / "x"}).error().message,
            odd + ": 2-byte token ids expected, file has 3 bytes");
}

TEST_F(Packing, ArraysAreThoseOfDataKindArrays) {
  using testkit::Npy;
  Bytes inputs(20 * 600), labels(4 * 20);
  std::iota(inputs.begin(), inputs.end(), std::uint8_t{0});
  for (std::size_t i = 0; i < 20; ++i) labels[4 * i] = static_cast<std::uint8_t>(i % 3);
  const Bytes x = Npy("|u1", "(20, 20, 30)", inputs), y = Npy("<i4", "(20,)", labels);
  const std::string folder = std::filesystem::path(Write("d/x.npy", {x.begin(), x.end()})).parent_path();
  Write("d/y.npy", {y.begin(), y.end()});
  const auto report = Run({.kind = PackKind::kArrays, .inputs = {folder}});
  ASSERT_TRUE(report) << report.error().message;
  EXPECT_EQ(report->items, 20);
  EXPECT_EQ(report->limit, 3);
  for (const float share : {0.0f, 0.3f}) {
    const auto packed = OpenData({.kind = DataKind::kPacked, .path = scratch_ / "out.pack", .validation = share}, 0);
    const auto plain = OpenData({.kind = DataKind::kArrays, .path = folder, .validation = share}, 0);
    ASSERT_TRUE(packed) << packed.error().message;
    EXPECT_EQ(packed->root, plain->root);
    EXPECT_EQ(packed->train->samples(), plain->train->samples());
    EXPECT_EQ(packed->shape.classes, plain->shape.classes);
    if (share == 0) {
      EXPECT_EQ(report->root, plain->root);
    }
  }
}

// The same batches as of the text itself.
TEST_F(Packing, TrainsOnWhatTheTextWouldBe) {
  const std::string text = Write("a.txt", LongText(30000));
  const auto report = Run({.inputs = {text}, .vocabulary = VectorFolder(), .end_documents = false});
  ASSERT_TRUE(report) << report.error().message;
  for (const float share : {0.0f, 0.1f}) {
    const DataConfig plain_config{.kind = DataKind::kBpe, .path = text, .vocabulary = VectorFolder(), .validation = share};
    const auto plain = OpenData(plain_config, 16);
    ThreadPool pool(3);
    const auto packed = OpenData({.kind = DataKind::kPacked, .path = scratch_ / "out.pack", .validation = share}, 16, &pool);
    ASSERT_TRUE(plain && packed);
    EXPECT_EQ(packed->root, plain->root);
    EXPECT_EQ(packed->shape.vocabulary, plain->shape.vocabulary);
    EXPECT_TRUE(packed->shape.vocabulary_exact);
    for (const auto set : {&Data::train, &Data::validation}) {
      if (share == 0 && set == &Data::validation) continue;
      const Dataset &a = *((*plain).*set), &b = *((*packed).*set);
      ASSERT_EQ(a.samples(), b.samples());
      auto one = MakeBatch(a.fields(), 1), other = MakeBatch(b.fields(), 1);
      a.Load(a.samples() - 1, {}, 0, one);
      b.Load(b.samples() - 1, {}, 0, other);
      for (std::size_t i = 0; i < one.size(); ++i) EXPECT_TRUE(std::ranges::equal(one[i].bytes(), other[i].bytes()));
    }
    if (share == 0) {
      EXPECT_EQ(report->root, plain->root);
    }
  }
}

TEST_F(Packing, TheSameBytesWhateverTheThreadsAndPieces) {
  std::string lines;
  for (int i = 0; i < 300; ++i) lines += fmt::format("{{\"n\": {}, \"text\": \"line {}'s \\u20ac\\n\"}}\n", i, i * i);
  PackOptions options{
      .inputs = {Write("a.txt", LongText(40000)), Write("b.jsonl", lines), Write("c.txt", "x"), Write("d.txt", LongText(3000))},
      .vocabulary = VectorFolder()};
  options.out = scratch_ / "whole";
  ASSERT_TRUE(Run(options, {}, 1));
  for (const std::uint64_t piece : {1u, 37u, 500u, 10000u}) {
    for (const int threads : {1, 3}) {
      options.out = scratch_ / fmt::format("p{}-{}", piece, threads);
      PackHooks hooks;
      hooks.piece_bytes = piece;
      const auto report = Run(options, hooks, threads);
      ASSERT_TRUE(report) << report.error().message;
      EXPECT_EQ(ReadFile(options.out, 1 << 26).value(), All("whole"));
    }
  }
}

TEST_F(Packing, GoesOnWhereItWasStopped) {
  std::vector<std::string> inputs = {Write("a.txt", LongText(50000)), Write("b.txt", LongText(20000))};
  PackOptions options{.inputs = inputs, .out = scratch_ / "whole", .vocabulary = VectorFolder(), .end_of_text = 3};
  ASSERT_TRUE(Run(options));
  options.out = scratch_ / "out.pack";
  PackHooks hooks;
  hooks.piece_bytes = 1000;
  hooks.checkpoint_s = 0;
  int calls = 0, stops = 0;
  std::uint64_t begun = 0;
  while (true) {
    int allowed = 2;
    hooks.should_stop = [&] { return allowed-- == 0; };
    hooks.progress = [&, first = true](std::uint64_t done, std::uint64_t) mutable {
      if (first) {
        EXPECT_EQ(done, begun);
      }
      first = false;
      begun = done;
    };
    const auto report = Run(options, hooks);
    ++calls;
    if (report) {
      EXPECT_GT(report->resumed_bytes, 0u);
      EXPECT_EQ(report->documents, 2);
      break;
    }
    ASSERT_EQ(report.error().message, "stopped");
    EXPECT_FALSE(IsTaken(options.out));
    ++stops;
    // What a killed packer had appended after its last checkpoint does not count.
    std::ofstream(options.out + ".partial/data", std::ios::binary | std::ios::app) << "torn";
    std::ofstream(options.out + ".partial/leaves", std::ios::binary | std::ios::app) << "torn";
    std::ofstream(options.out + ".partial/documents", std::ios::binary | std::ios::app) << "torn";
    ASSERT_LT(stops, 50);
  }
  EXPECT_GE(calls, 3);
  EXPECT_EQ(All("out.pack"), All("whole"));
  EXPECT_FALSE(IsTaken(options.out + ".partial"));
}

TEST_F(Packing, RefusesAFolderOfOtherInputs) {
  const std::string text = Write("a.txt", LongText(5000));
  PackHooks hooks;
  hooks.piece_bytes = 100;
  hooks.should_stop = [n = 0]() mutable { return n++ == 1; };
  EXPECT_EQ(Run({.inputs = {text}}, hooks).error().message, "stopped");
  const std::string other =
      scratch_ /
      "out.pack.partial: was begun with other inputs or options, or the inputs have changed since; remove it to start over";
  EXPECT_EQ(Run({.inputs = {text}, .end_of_text = 1}).error().message, other);
  std::filesystem::last_write_time(text, std::filesystem::file_time_type::clock::now() + std::chrono::hours(1));
  EXPECT_EQ(Run({.inputs = {text}}).error().message, other);
}

TEST_F(Packing, OverwritesNothing) {
  const std::string text = Write("a.txt", "abc"), out = Write("out.pack", "mine");
  EXPECT_EQ(Run({.inputs = {text}}).error().message, out + ": exists already and is not overwritten");
  EXPECT_FALSE(IsTaken(out + ".partial"));
  EXPECT_EQ(All("out.pack"), (Bytes{'m', 'i', 'n', 'e'}));
}

TEST_F(Packing, TextThatCannotBeCutIsRefused) {
  PackHooks hooks;
  hooks.piece_bytes = 1 << 20;
  const std::string text = Write("a.txt", std::string(6 << 20, 'e'));
  EXPECT_EQ(Run({.inputs = {text}, .vocabulary = VectorFolder()}, hooks).error().message,
            text + ": has no white space at which it could be cut from byte 0 on, at most 4194304 bytes are read at once");
}

TEST_F(Packing, RefusesWhatCannotBePacked) {
  EXPECT_EQ(Run({.inputs = {scratch_ / "none"}}).error().message,
            (scratch_ / "none") + ": cannot open: No such file or directory");
  EXPECT_EQ(Run({.inputs = {"/dev/null"}}).error().message, "/dev/null: expected a file or a folder");
  const std::string empty = Write("empty.txt", ""), blank = Write("blank.jsonl", "\n\n");
  EXPECT_EQ(Run({.inputs = {empty}}).error().message, empty + ": there is nothing to pack, 1 files with 0 bytes");
  EXPECT_EQ(Run({.inputs = {blank}}).error().message, blank + ": there is nothing to pack, no document has a character");
  const std::string text = Write("a.txt", "abc");
  EXPECT_EQ(Run({.inputs = {text}, .out = scratch_ / "o", .end_of_text = 257}).error().message,
            "--eot: expected a token of the vocabulary, 0 .. 256, or none, got 257");
}

}  // namespace
}  // namespace assay
