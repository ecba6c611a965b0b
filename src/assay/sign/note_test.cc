#include "assay/sign/note.h"

#include <gtest/gtest.h>

#include "assay/base/base64.h"

namespace assay {
namespace {

ed25519::Seed Counting() {
  ed25519::Seed seed{};
  for (std::size_t i = 0; i < seed.size(); ++i) seed[i] = static_cast<std::uint8_t>(i);
  return seed;
}

const SigningKey kKey("example.org/Trainer_1.a-b", Counting());
const SigningKey kWitness("witness", HashBytes(AsBytes("witness")).bytes);
const Checkpoint kCheckpoint{.origin = "example.org/log", .size = 20852163, .root = HashBytes(AsBytes("root"))};

// Computed from docs/formats/log.md by tests/vectors/log.py.
constexpr std::string_view kText =
    "example.org/log\n"
    "20852163\n"
    "SBNJTRN+FjG7owHVrKtue7eqdM4RhdRWVl71HXN2d7I=\n";
constexpr std::string_view kSignature =
    "\xe2\x80\x94 example.org/Trainer_1.a-b "
    "Ujby8DhaZbDVtZI52baQQpApnSxQOdqcEZRtZU8TFqy0dnE3UoE65Jk56PIFajEEcwf9LH9pfa0nw05qhZrIujqZ0QE=\n";

std::string Note(std::string_view text, std::string_view signatures) { return fmt::format("{}\n{}", text, signatures); }

Result<Checkpoint> Open(std::string_view note) { return OpenCheckpoint(note, kKey.verify_key(), "note"); }

// A note of any text, well signed.
std::string SignText(std::string_view text, const SigningKey& key = kKey) {
  Bytes bytes;
  for (int shift = 24; shift >= 0; shift -= 8) bytes.push_back(static_cast<std::uint8_t>(key.verify_key().hash() >> shift));
  for (const std::uint8_t byte : key.Sign(AsBytes(text))) bytes.push_back(byte);
  return Note(text, fmt::format("\xe2\x80\x94 {} {}\n", key.verify_key().name(), Base64(bytes)));
}

std::string WitnessLine() {
  const std::string note = SignText(kText, kWitness);
  return note.substr(kText.size() + 1);
}

TEST(Note, Vector) {
  const std::string note = Note(kText, kSignature);
  EXPECT_EQ(SignCheckpoint(kCheckpoint, kKey), note);
  const auto opened = Open(note);
  ASSERT_TRUE(opened) << opened.error().message;
  EXPECT_EQ(*opened, kCheckpoint);
  EXPECT_EQ(SignText(kText), note);
}

TEST(Note, EveryFlippedBitIsRefused) {
  const std::string note = Note(kText, kSignature);
  for (std::size_t bit = 0; bit < 8 * note.size(); ++bit) {
    std::string other = note;
    other[bit / 8] = static_cast<char>(other[bit / 8] ^ 1 << (bit % 8));
    EXPECT_FALSE(Open(other)) << other;
  }
  for (std::size_t size = 0; size < note.size(); ++size) EXPECT_FALSE(Open(note.substr(0, size))) << size;
  for (std::size_t i = 0; i < note.size(); ++i) EXPECT_FALSE(Open(std::string(note).erase(i, 1))) << i;
}

TEST(Note, WitnessesMayStandBesideTheSigner) {
  const std::string line(kSignature), witness = WitnessLine();
  EXPECT_TRUE(Open(Note(kText, line + witness)));
  EXPECT_TRUE(Open(Note(kText, witness + line)));
  EXPECT_TRUE(OpenCheckpoint(Note(kText, witness + line), kWitness.verify_key(), "note"));
  // Not looked at: a witness's signature of another kind, or a bad one.
  EXPECT_TRUE(Open(Note(kText, "\xe2\x80\x94 other AAAAAAA=\n" + line)));
  // Of the signer's name with another hash, or the other way round: not this key.
  EXPECT_TRUE(Open(Note(kText, "\xe2\x80\x94 example.org/Trainer_1.a-b AAAAAAA=\n" + line)));
}

TEST(Note, SignaturesThatAreRefused) {
  const std::string line(kSignature), witness = WitnessLine();
  EXPECT_EQ(Open(Note(kText, witness)).error().message, "note: is not signed by example.org/Trainer_1.a-b+5236f2f0");
  EXPECT_EQ(Open(Note(kText, line + line)).error().message, "note: is signed twice by example.org/Trainer_1.a-b+5236f2f0");
  // A signature of the key over other text is an error even beside a good one, and so is one that is too short.
  const std::string wrong = SignText("x\n").substr(3);
  EXPECT_EQ(Open(Note(kText, wrong)).error().message,
            "note: the signature of example.org/Trainer_1.a-b+5236f2f0 does not fit the text: the copy is damaged or was not "
            "made by that key");
  EXPECT_FALSE(Open(Note(kText, line + wrong)));
  EXPECT_FALSE(Open(Note(kText, wrong + line)));
  EXPECT_FALSE(Open(Note(kText, "\xe2\x80\x94 example.org/Trainer_1.a-b Ujby8AA=\n" + line)));
  for (const std::string& bad :
       {std::string(), std::string("\n"), line + "\n", "\n" + line, line + "x", line + "x\n", "- other AAAAAAA=\n" + line,
        "\xe2\x80\x94 other AAAA\n" + line, "\xe2\x80\x94 other AAAAAA==\n" + line, "\xe2\x80\x94 a+b AAAAAAA=\n" + line,
        "\xe2\x80\x94 other  AAAAAAA=\n" + line, "\xe2\x80\x94  AAAAAAA=\n" + line, "\xe2\x80\x94 other AAAAAAB=\n" + line,
        "\xe2\x80\x94 other\n" + line, "\xe2\x80\x94 \xc3\xa9 AAAAAAA=\n" + line}) {
    EXPECT_FALSE(Open(Note(kText, bad))) << bad;
  }
}

TEST(Note, TextsThatAreRefusedThoughWellSigned) {
  const std::string root = Base64(kCheckpoint.root.bytes), empty = Base64(HashBytes({}).bytes);
  ASSERT_TRUE(Open(SignText("o\n5\n" + root + "\n")));
  ASSERT_TRUE(Open(SignText("o\n0\n" + empty + "\n")));
  ASSERT_TRUE(Open(SignText("o\n9223372036854775807\n" + root + "\n")));
  for (const std::string& text : {std::string("\n"),
                                  std::string("o\n"),
                                  std::string("o\n5\n"),
                                  "\n5\n" + root + "\n",
                                  "o\n\n" + root + "\n",
                                  "o\n5\n\n" + root + "\n",
                                  "o o\n5\n" + root + "\n",
                                  "o\t\n5\n" + root + "\n",
                                  "\xc3\xa9\n5\n" + root + "\n",
                                  "o\n05\n" + root + "\n",
                                  "o\n00\n" + empty + "\n",
                                  "o\n+5\n" + root + "\n",
                                  "o\n-5\n" + root + "\n",
                                  "o\n 5\n" + root + "\n",
                                  "o\n5 \n" + root + "\n",
                                  "o\n0x5\n" + root + "\n",
                                  "o\n5.0\n" + root + "\n",
                                  "o\n9223372036854775808\n" + root + "\n",
                                  "o\n18446744073709551621\n" + root + "\n",
                                  "o\n0\n" + root + "\n",
                                  "o\n5\n" + root.substr(0, 40) + "\n",
                                  "o\n5\n" + root + "AAAA\n",
                                  "o\n5\n" + root.substr(0, 43) + "\n",
                                  "o\n5\n" + root + "\nx",
                                  "o\n5\n" + root + "\nextension\n",
                                  "o\n5\r\n" + root + "\n"}) {
    EXPECT_FALSE(Open(SignText(text))) << text;
  }
}

TEST(Note, LongNotesAreRefused) {
  std::string signatures(kSignature);
  while (signatures.size() < kMaxNoteBytes) signatures += "\xe2\x80\x94 other AAAAAAA=\n";
  const auto opened = Open(Note(kText, signatures));
  ASSERT_FALSE(opened);
  EXPECT_NE(opened.error().message.find("expected at most 65536"), std::string::npos) << opened.error().message;
}

}  // namespace
}  // namespace assay
