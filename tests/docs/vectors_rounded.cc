// Rounded jobs: what a referee finds in logs, whole and altered; vectors_rounded_ops.cc has what it evaluates.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "assay/base/bytes.h"
#include "assay/base/philox.h"
#include "assay/rounding/decision.h"
#include "assay/rounding/decision_log.h"
#include "assay/rounding/find_decision.h"
#include "assay/rounding/paper_log.h"
#include "docs/json.h"
#include "docs/vectors.h"

namespace assay::docs {
namespace {

using rounding::Decision;

// A log that is at hand as a whole.
class WholeLog : public rounding::PartialLog {
 public:
  explicit WholeLog(Bytes bytes) : bytes_(std::move(bytes)) {}
  std::uint64_t size() const override { return bytes_.size(); }
  Result<Bytes> Read(std::uint64_t begin, std::uint64_t end) override {
    return Bytes(bytes_.begin() + static_cast<std::ptrdiff_t>(begin), bytes_.begin() + static_cast<std::ptrdiff_t>(end));
  }

 private:
  Bytes bytes_;
};

std::string SaidAt(const Bytes& log, std::uint64_t elements, std::uint64_t position) {
  WholeLog whole(log);
  const auto found = rounding::FindDecision(whole, elements, position);
  if (!found) return "no log";
  if (!*found) return "none";
  const Decision& said = **found;
  if (!said.wide) return said.up ? "up" : "down";
  return said.modulus == 0 ? Bits(said.value) : fmt::format("{} {}", said.modulus, said.residue);
}

std::uint32_t Word(std::uint64_t i, std::uint32_t which) {
  return Philox({9, 0}, {static_cast<std::uint32_t>(i), which, 0, 0})[0];
}

// Decisions of all kinds, far apart; or narrow ones side by side, in more than one segment.
std::string LogOf(bool dense) {
  std::vector<Decision> decisions;
  std::uint64_t position = 3;
  for (std::uint64_t i = 0; i < (dense ? 4100u : 600u); ++i) {
    Decision decision;
    decision.position = position;
    decision.up = Word(i, 0) % 3 == 0;
    if (!dense && Word(i, 1) % 4 == 0) {
      decision.up = false;
      decision.wide = true;
      decision.modulus = static_cast<std::uint8_t>(Word(i, 2) % 13);
      if (decision.modulus == 0) {
        decision.value = std::bit_cast<float>(0x3f000000u + (Word(i, 3) >> 7 << 3));
      } else {
        decision.residue = Word(i, 3) & ((1u << decision.modulus) - 1);
      }
    }
    decisions.push_back(decision);
    position += 1 + (dense ? 0 : Word(i, 4) >> (8 + Word(i, 5) % 20));
  }
  const std::uint64_t elements = position + 1000;
  const Bytes log = rounding::EncodeDecisions(decisions, elements);
  std::vector<std::string> lines;
  const auto add = [&](std::size_t byte, std::uint64_t at) {
    Bytes altered = log;
    if (byte < log.size()) altered[byte] ^= 0x10;
    lines.push_back(fmt::format("[{}, {}, {}]", byte < log.size() ? fmt::format("{}", byte) : "null", at,
                                Quoted(SaidAt(altered, elements, at))));
  };
  const std::uint64_t last = decisions.size() - 1;
  for (const std::uint64_t i : {std::uint64_t{0}, last / 7, last / 3, last / 2, last - 4, last}) {
    add(SIZE_MAX, decisions[i].position);
    add(SIZE_MAX, decisions[i].position + 1);
    add(i * log.size() / (last + 1), decisions[i].position);
  }
  add(SIZE_MAX, 0);
  add(SIZE_MAX, elements - 1);
  add(log.size() - 1, decisions[last].position);
  std::string hex;
  for (const std::uint8_t byte : log) hex += fmt::format("{:02x}", byte);
  return Object(
      {{"elements", fmt::format("{}", elements)}, {"log", Quoted(hex)}, {"said", fmt::format("[{}]", fmt::join(lines, ", "))}});
}

// A log of the published rule, packed; or as one stream that any compressor could have written, of a block that is stored.
std::string SymbolLogOf(bool compressed) {
  constexpr std::uint64_t kElements = 23;
  Bytes packed((kElements + 4) / 5);
  unsigned weight = 1;
  for (std::uint64_t i = 0; i < kElements; ++i, weight = weight == 81 ? 1 : 3 * weight) {
    packed[i / 5] = static_cast<std::uint8_t>(packed[i / 5] + weight * (Word(i, 6) % 3));
  }
  Bytes coded = packed;
  if (compressed) {
    const auto length = static_cast<std::uint8_t>(packed.size());
    coded = {0x78, 0x01, 0x01, length, 0, static_cast<std::uint8_t>(~length), 0xff};
    unsigned a = 1, b = 0;  // Adler-32
    for (const std::uint8_t byte : packed) {
      coded.push_back(byte);
      a += byte;
      b += a;
    }
    for (const unsigned byte : {b >> 8, b, a >> 8, a}) coded.push_back(static_cast<std::uint8_t>(byte));
  }
  ByteWriter out;
  out.String("assay/rounding-paper/2");
  out.U64(kElements);
  out.U8(compressed ? 1 : 0);
  out.U64(coded.size());
  out.Raw(coded);
  const Bytes log = out.Take();
  std::vector<std::string> lines;
  const auto add = [&](std::size_t byte, std::uint64_t at) {
    Bytes altered = log;
    if (byte < log.size()) altered[byte] ^= 0x10;
    WholeLog whole(altered);
    const auto symbol = rounding::FindSymbol(whole, kElements, at);
    lines.push_back(fmt::format("[{}, {}, {}]", byte < log.size() ? fmt::format("{}", byte) : "null", at,
                                Quoted(symbol ? fmt::format("{}", *symbol) : "no log")));
  };
  for (std::uint64_t at = 0; at < kElements; ++at) add(SIZE_MAX, at);
  for (std::size_t byte = 0; byte < log.size(); ++byte) add(byte, byte % kElements);
  std::string hex;
  for (const std::uint8_t byte : log) hex += fmt::format("{:02x}", byte);
  return Object({{"elements", fmt::format("{}", kElements)},
                 {"log", Quoted(hex)},
                 {"said", fmt::format("[{}]", fmt::join(lines, ", "))}});
}

}  // namespace

std::string RoundedVectors() {
  return fmt::format("{{\n{},\n  \"logs\": {},\n  \"symbols\": {}\n}}\n", RoundedOpVectors(),
                     Lines({LogOf(false), LogOf(true)}, 2), Lines({SymbolLogOf(false), SymbolLogOf(true)}, 2));
}

}  // namespace assay::docs
