#include "assay/net/url.h"

#include <arpa/inet.h>

#include <algorithm>
#include <array>
#include <charconv>

#include "assay/base/quote.h"

namespace assay {
namespace {

constexpr std::size_t kMaxUrl = 2048;
constexpr std::size_t kMaxHost = 253;

bool IsDigit(char c) { return c >= '0' && c <= '9'; }
char Lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

std::string ToLower(std::string_view text) {
  std::string lower(text);
  std::transform(lower.begin(), lower.end(), lower.begin(), Lower);
  return lower;
}

bool IsAddress(int family, const std::string& text) {
  std::array<unsigned char, sizeof(in6_addr)> address;
  return inet_pton(family, text.c_str(), address.data()) == 1;
}

bool IsNameCharacter(char c) { return IsDigit(c) || (c >= 'a' && c <= 'z') || c == '-' || c == '_' || c == '.'; }

// A name, or an IPv4 address: a host whose last part is a number is never a name, and other spellings of addresses are refused.
bool IsName(const std::string& host) {
  if (host.empty() || host.size() > kMaxHost || !std::all_of(host.begin(), host.end(), IsNameCharacter)) return false;
  if (host.front() == '.' || host.front() == '-' || host.find("..") != std::string::npos) return false;
  const std::size_t dot = host.find_last_of('.');
  const std::string_view last = std::string_view(host).substr(dot == std::string::npos ? 0 : dot + 1);
  const bool number = !last.empty() && IsDigit(last.front());
  return number ? IsAddress(AF_INET, host) : !last.empty();
}

Result<std::uint16_t> ParsePort(std::string_view text, bool zero_allowed) {
  unsigned port = 0;
  const bool digits = !text.empty() && text.size() <= 5 && std::all_of(text.begin(), text.end(), IsDigit);
  if (digits) std::from_chars(text.data(), text.data() + text.size(), port);
  if (!digits || port > 65535 || (port == 0 && !zero_allowed)) {
    return Err("expected a port from {} to 65535, got {}", zero_allowed ? 0 : 1, Quote(text));
  }
  return static_cast<std::uint16_t>(port);
}

struct Split {
  std::string host;
  std::string_view port;  // what follows the colon
  bool has_port = false;
};

Result<Split> SplitHost(std::string_view text) {
  Split split;
  std::string_view rest;
  if (text.starts_with('[')) {
    const std::size_t end = text.find(']');
    if (end == std::string_view::npos) return Err("expected ']' after an IPv6 address");
    split.host = ToLower(text.substr(1, end - 1));
    if (!IsAddress(AF_INET6, split.host)) return Err("expected an IPv6 address in brackets, got {}", Quote(split.host));
    rest = text.substr(end + 1);
    if (!rest.empty() && rest.front() != ':') return Err("expected ':' and a port after ']'");
  } else {
    const std::size_t colon = text.find(':');
    split.host = ToLower(text.substr(0, colon));
    rest = colon == std::string_view::npos ? std::string_view() : text.substr(colon);
    if (!IsName(split.host)) return Err("expected a host name or an address, got {}", Quote(split.host));
    if (rest.find(':', 1) != std::string_view::npos) return Err("expected an IPv6 address to stand in brackets");
  }
  split.has_port = !rest.empty();
  if (split.has_port) split.port = rest.substr(1);
  return split;
}

Result<HostPort> HostPortOf(std::string_view text) {
  ASSAY_ASSIGN(Split split, SplitHost(text));
  if (!split.has_port) return Err("expected HOST:PORT");
  ASSAY_ASSIGN(const std::uint16_t port, ParsePort(split.port, true));
  return HostPort{std::move(split.host), port};
}

Result<Url> UrlOf(std::string_view text) {
  if (text.size() > kMaxUrl) return Err("expected at most {} characters, got {}", kMaxUrl, text.size());
  const std::size_t colon = text.find("://");
  const std::string scheme = ToLower(text.substr(0, colon == std::string_view::npos ? 0 : colon));
  if (scheme != "http" && scheme != "https") return Err("expected http:// or https://");
  Url url;
  url.tls = scheme == "https";
  text.remove_prefix(colon + 3);
  const std::size_t path = std::min(text.find_first_of("/?#"), text.size());
  const std::string_view authority = text.substr(0, path);
  if (authority.find('@') != std::string_view::npos) return Err("names and passwords are not allowed here");
  ASSAY_ASSIGN(Split split, SplitHost(authority));
  url.server = {std::move(split.host), static_cast<std::uint16_t>(url.tls ? 443 : 80)};
  if (split.has_port) {
    ASSAY_ASSIGN(url.server.port, ParsePort(split.port, false));
  }
  if (path < text.size()) {
    url.target = text.substr(path);
    if (url.target.front() == '?') url.target.insert(0, 1, '/');
    if (!IsTarget(url.target)) return Err("expected a path of visible ASCII without '#', got {}", Quote(url.target));
  }
  return url;
}

std::string Bracketed(const std::string& host) { return host.find(':') == std::string::npos ? host : "[" + host + "]"; }

}  // namespace

bool IsTarget(std::string_view text) {
  return text.starts_with('/') && text.size() <= kMaxUrl &&
         std::all_of(text.begin(), text.end(), [](char c) { return c > ' ' && c <= '~' && c != '#'; });
}

std::string HostPort::ToString() const { return fmt::format("{}:{}", Bracketed(host), port); }

std::string Url::Authority() const { return server.port == (tls ? 443 : 80) ? Bracketed(server.host) : server.ToString(); }

std::string Url::ToString() const { return fmt::format("{}://{}{}", tls ? "https" : "http", Authority(), target); }

Result<HostPort> ParseHostPort(std::string_view text) {
  return HostPortOf(text).map_error(
      [&](const Error& error) { return Error{fmt::format("address {}: {}", Quote(text), error.message)}; });
}

Result<Url> ParseUrl(std::string_view text) {
  return UrlOf(text).map_error(
      [&](const Error& error) { return Error{fmt::format("URL {}: {}", Quote(text), error.message)}; });
}

}  // namespace assay
