// Addresses of servers, as users write them.
#include "assay/base/check.h"
#include "assay/net/url.h"
#include "fuzz/targets.h"

namespace assay::fuzz {

void RunUrl(ByteSpan input) {
  const auto url = ParseUrl(AsText(input));
  if (url) {
    const auto again = ParseUrl(url->ToString());
    // The canonical form may be longer than what was written, by the path "/", but never reads as another address.
    ASSAY_CHECK(again ? *again == *url : url->ToString().size() > input.size());
    ASSAY_CHECK(IsTarget(url->target) && url->server.port != 0);
  } else {
    ASSAY_CHECK(url.error().message.find('\n') == std::string::npos);
  }
  const auto address = ParseHostPort(AsText(input));
  if (address) {
    const auto again = ParseHostPort(address->ToString());
    ASSAY_CHECK(again.has_value() && *again == *address);
  } else {
    ASSAY_CHECK(address.error().message.find('\n') == std::string::npos);
  }
}

std::vector<Bytes> UrlSeeds() {
  return {ToBytes("http://example.org:8080/a/b?c=d"),
          ToBytes("https://[2001:db8::1]:443/"),
          ToBytes("http://127.0.0.1"),
          ToBytes("127.0.0.1:0"),
          ToBytes("[::1]:8080"),
          ToBytes("localhost:65535")};
}

}  // namespace assay::fuzz
