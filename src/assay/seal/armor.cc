#include "assay/seal/armor.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "assay/base/base64.h"
#include "assay/base/quote.h"

namespace assay::seal {
namespace {

constexpr std::string_view kBegin = "-----BEGIN AGE ENCRYPTED FILE-----";
constexpr std::string_view kEnd = "-----END AGE ENCRYPTED FILE-----";
constexpr std::size_t kColumns = 64;
constexpr std::size_t kLineBytes = 48;
constexpr std::size_t kMaxBlank = 1024;

bool IsBlank(std::uint8_t c) { return c == ' ' || c == '\t' || c == '\r' || c == '\n'; }

class Reader {
 public:
  Reader(BufferedSource source, std::string what) : source_(std::move(source)), what_(std::move(what)) {}

  Result<std::size_t> Read(std::span<std::uint8_t> out) {
    while (at_ == held_.size() && !ended_) ASSAY_TRY(NextLine());
    const std::size_t size = std::min(out.size(), held_.size() - at_);
    std::copy_n(held_.begin() + static_cast<std::ptrdiff_t>(at_), size, out.begin());
    at_ += size;
    return size;
  }

 private:
  // Makes the bytes of one line the ones that are held.
  Status NextLine() {
    held_.clear();
    at_ = 0;
    if (!begun_) {
      ASSAY_TRY(SkipBlank());
      ASSAY_ASSIGN(const std::string first, TakeLine(true));
      if (first != kBegin) return Err("{}: is no sealed file: expected age-encryption.org/v1 or {}", what_, kBegin);
      begun_ = true;
    }
    ASSAY_ASSIGN(const std::string line, TakeLine(false));
    if (line == kEnd) return Finish();
    const auto bytes = last_ || line.empty() || line.size() > kColumns ? Result<Bytes>(Err("")) : FromBase64(line);
    if (!bytes) return Err("{}: armor: line {}: expected {} columns of base64 or the end of it", what_, number_, kColumns);
    held_ = *bytes;
    last_ = held_.size() < kLineBytes;
    return {};
  }

  // Without its end. The last line of a file may have none.
  Result<std::string> TakeLine(bool first) {
    ++number_;
    ASSAY_ASSIGN(std::string line, source_.Line(kColumns + 2));
    if (line.ends_with('\n')) {
      line.pop_back();
      if (line.ends_with('\r')) line.pop_back();
    } else if (!first && line != kEnd && line.size() < kColumns + 2) {
      return Err("{}: is truncated: it ends in its armor", what_);
    }
    return line;
  }

  Status Finish() {
    ended_ = true;
    ASSAY_TRY(SkipBlank());
    ASSAY_ASSIGN(const auto more, source_.Peek());
    if (more) return Err("{}: armor: bytes follow its end", what_);
    return {};
  }

  Status SkipBlank() {
    for (std::size_t i = 0; i < kMaxBlank; ++i) {
      ASSAY_ASSIGN(const auto next, source_.Peek());
      if (!next || !IsBlank(*next)) return {};
      std::uint8_t skipped[1];
      ASSAY_TRY(source_.Fill(skipped));
    }
    return Err("{}: armor: more than {} bytes of white space", what_, kMaxBlank);
  }

  BufferedSource source_;
  std::string what_;
  Bytes held_;
  std::size_t at_ = 0;
  std::size_t number_ = 0;
  bool begun_ = false, ended_ = false;
  bool last_ = false;  // the line before was shorter than others: only the end may follow
};

}  // namespace

bool BeginsArmor(std::uint8_t first) { return IsBlank(first) || first == '-'; }

ByteSource Dearmored(BufferedSource source, std::string what) {
  return [reader = std::make_shared<Reader>(std::move(source), std::move(what))](std::span<std::uint8_t> out) {
    return reader->Read(out);
  };
}

}  // namespace assay::seal
