#include "assay/net/url.h"

#include <gtest/gtest.h>

namespace assay {
namespace {

TEST(Url, Parts) {
  const auto url = ParseUrl("http://Example.org:8080/a/b?c=d");
  ASSERT_TRUE(url) << url.error().message;
  EXPECT_FALSE(url->tls);
  EXPECT_EQ(url->server, (HostPort{"example.org", 8080}));
  EXPECT_EQ(url->target, "/a/b?c=d");
  EXPECT_EQ(url->Authority(), "example.org:8080");
  EXPECT_EQ(url->ToString(), "http://example.org:8080/a/b?c=d");
}

TEST(Url, DefaultsOfPortAndPath) {
  EXPECT_EQ(ParseUrl("http://a")->ToString(), "http://a/");
  EXPECT_EQ(ParseUrl("http://a")->server.port, 80);
  EXPECT_EQ(ParseUrl("HTTPS://a")->server.port, 443);
  EXPECT_EQ(ParseUrl("https://a:443/")->Authority(), "a");
  EXPECT_EQ(ParseUrl("https://a:80/")->Authority(), "a:80");
  EXPECT_EQ(ParseUrl("http://a?q")->target, "/?q");
}

TEST(Url, Ipv6StandsInBrackets) {
  const auto url = ParseUrl("http://[::1]:81/x");
  ASSERT_TRUE(url) << url.error().message;
  EXPECT_EQ(url->server.host, "::1");
  EXPECT_EQ(url->ToString(), "http://[::1]:81/x");
  EXPECT_EQ(ParseUrl("http://[2001:DB8::1]")->Authority(), "[2001:db8::1]");
}

TEST(Url, ErrorsSayWhatWasExpected) {
  const struct {
    std::string_view text;
    std::string_view message;
  } kCases[] = {
      {"", "expected http:// or https://"},
      {"ftp://a", "expected http:// or https://"},
      {"a:80", "expected http:// or https://"},
      {"http://", "expected a host name or an address"},
      {"http://:80", "expected a host name or an address"},
      {"http://a b/", "expected a host name or an address"},
      {"http://a..b/", "expected a host name or an address"},
      {"http://127.1/", "expected a host name or an address"},
      {"http://0x7f.0.0.1/", "expected a host name or an address"},
      {"http://127.0.0.256/", "expected a host name or an address"},
      {"http://me:secret@a/", "names and passwords"},
      {"http://::1/", "expected a host name or an address"},
      {"http://a:1:2/", "brackets"},
      {"http://[::1/", "expected ']'"},
      {"http://[::1]x/", "after ']'"},
      {"http://[fe80::1%eth0]/", "expected an IPv6 address"},
      {"http://[]/", "expected an IPv6 address"},
      {"http://a:/", "expected a port from 1 to 65535"},
      {"http://a:0/", "expected a port from 1 to 65535"},
      {"http://a:65536/", "expected a port from 1 to 65535"},
      {"http://a:-1/", "expected a port from 1 to 65535"},
      {"http://a:999999999999999999999/", "expected a port from 1 to 65535"},
      {"http://a/b c", "visible ASCII"},
      {"http://a/b\r\nX: y", "visible ASCII"},
      {"http://a/#top", "without '#'"},
      {"http://a#top", "without '#'"},
  };
  for (const auto& test : kCases) {
    const auto url = ParseUrl(test.text);
    ASSERT_FALSE(url) << test.text;
    EXPECT_NE(url.error().message.find(test.message), std::string::npos) << url.error().message;
    EXPECT_EQ(url.error().message.find('\n'), std::string::npos);
    EXPECT_TRUE(url.error().message.starts_with("URL '")) << url.error().message;
  }
  EXPECT_FALSE(ParseUrl("http://a/" + std::string(3000, 'x')));
  EXPECT_FALSE(ParseUrl("http://" + std::string(300, 'x')));
  EXPECT_FALSE(ParseUrl(std::string_view("http://a\0b/", 11)));
}

TEST(HostPort, Forms) {
  EXPECT_EQ(*ParseHostPort("127.0.0.1:0"), (HostPort{"127.0.0.1", 0}));
  EXPECT_EQ(*ParseHostPort("[::]:80"), (HostPort{"::", 80}));
  EXPECT_EQ(ParseHostPort("[::]:80")->ToString(), "[::]:80");
  EXPECT_EQ(*ParseHostPort("localhost:8080"), (HostPort{"localhost", 8080}));
  for (const char* bad : {"", "a", ":80", "a:", "a:x", "a:65536", "::1:80", "[::1]", "a:80/"})
    EXPECT_FALSE(ParseHostPort(bad)) << bad;
}

}  // namespace
}  // namespace assay
