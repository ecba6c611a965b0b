// Addresses of servers as users write them: URLs, and HOST:PORT for those who listen. Pure functions of the text, which may be anything.
//
// What is accepted is narrow, so that two programs never read one text in two ways: no credentials, no fragments, no IPv6 zones, no
// IPv4 addresses but four decimal numbers, nothing outside visible ASCII.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "assay/base/result.h"

namespace assay {

struct HostPort {
  std::string host;  // a name in lower case or an address; an IPv6 address has no brackets
  std::uint16_t port = 0;
  bool operator==(const HostPort&) const = default;
  std::string ToString() const;  // with brackets where they are needed
};

// "127.0.0.1:8080", "[::1]:0", "localhost:80". Port 0 is allowed.
Result<HostPort> ParseHostPort(std::string_view text);

struct Url {
  bool tls = false;
  HostPort server;
  std::string target = "/";  // path and query
  bool operator==(const Url&) const = default;
  std::string Authority() const;  // host, and port unless it is the scheme's own: the value of a Host header
  std::string ToString() const;
};

// "http://host:port/path" or "https://...". Ports default to 80 and 443, the path to "/".
Result<Url> ParseUrl(std::string_view text);

// Whether `text` may stand as the target of a request: a path, perhaps with a query.
bool IsTarget(std::string_view text);

}  // namespace assay
