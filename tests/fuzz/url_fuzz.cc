// Addresses of servers, as users write them, and targets of requests, as clients do.
#include "assay/base/check.h"
#include "assay/net/target.h"
#include "assay/net/url.h"
#include "fuzz/targets.h"

namespace assay::fuzz {

namespace {

// A target reads the same when its parts are written again, and no part of a path leads elsewhere.
void RunTarget(std::string_view text) {
  const auto target = ParseTarget(text);
  if (!target) {
    ASSAY_CHECK(target.error().message.find('\n') == std::string::npos);
    return;
  }
  std::string again = target->path.empty() ? "/" : "";
  for (const std::string& segment : target->path) {
    ASSAY_CHECK(segment != "." && segment != ".." && segment.find_first_of(std::string_view("/\0", 2)) == std::string::npos);
    again += '/';
    again += PercentEncode(segment);
  }
  for (const auto& [name, value] : target->query) {
    again += (&name == &target->query.front().first ? "?" : "&") + PercentEncode(name) + "=" + PercentEncode(value);
  }
  const auto same = ParseTarget(again);
  // Escapes may make it too long.
  ASSAY_CHECK(same ? same->path == target->path && same->query == target->query : !IsTarget(again));
}

}  // namespace

void RunUrl(ByteSpan input) {
  RunTarget(AsText(input));
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
          ToBytes("localhost:65535"),
          ToBytes("/v1/jobs/j%2D1?after=17&name=a%20b%c3%a4")};
}

}  // namespace assay::fuzz
