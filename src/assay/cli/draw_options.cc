#include "assay/cli/draw_options.h"

#include <sys/random.h>

#include <cstdlib>

#include "assay/base/quote.h"

namespace assay::cli {
namespace {

constexpr std::size_t kNonceBytes = 16;
constexpr std::size_t kMaxNonceDigits = 2048;

}  // namespace

Result<double> ParsePercent(const std::string& option, const std::string& given) {
  std::string text = given;
  const bool has_sign = text.ends_with('%');
  if (has_sign) text.pop_back();
  char* end = nullptr;
  const double percent = std::strtod(text.c_str(), &end);
  if (text.empty() || *end != '\0' || !(percent > 0 && percent <= 100)) {
    return Err("{}: expected a share above 0% and up to 100%, got {}", option, Quote(given));
  }
  if (!has_sign && percent < 1)
    return Err("{}: {} can mean two things; write {:g}% or {:g}%", option, Quote(given), 100 * percent, percent);
  return percent;
}

Result<Bytes> ParseNonce(const std::string& text) {
  if (text.empty()) {
    Bytes nonce(kNonceBytes);
    if (::getrandom(nonce.data(), nonce.size(), 0) != static_cast<ssize_t>(nonce.size())) {
      return Err("--nonce: the system gives no randomness; name one");
    }
    return nonce;
  }
  auto nonce = FromHex(text);
  if (!nonce || text.size() > kMaxNonceDigits)
    return Err("--nonce: expected an even number of hex digits, at most {}, got {}", kMaxNonceDigits, Quote(text));
  return nonce;
}

}  // namespace assay::cli
