// The program `hostile_peer`: speaks to providers and referees as somebody who means them no good, for wire tests with real processes.
//
//   hostile_peer hold URL [--words HOW] [--count N] [--hosts N] [--seconds S]    holds connections that do nothing useful
//   hostile_peer post URL PATH FILE [--out FILE]                                 posts any bytes, prints the status
//   hostile_peer proxy URL [--busy N] [--busy-seconds S] [--retry-after S] [--delay MS] [--only PATH] [--instead PATH=FILE] [--record DIR]
//                    [--withhold PREFIX] [--alter PREFIX]
//   hostile_peer relay URL [--drop N] [--drop-seconds S]                         cuts connections
//
// Exit status: 0 done, 2 bad input, usage, or nobody to talk to. `proxy` and `relay` run until they are ended.
#include <fmt/format.h>

#include <CLI/CLI.hpp>

#include <algorithm>

#include "assay/base/file.h"
#include "assay/net/http_client.h"
#include "hostile.h"

namespace assay::hostile {

Status Post(const PostOptions& options) {
  ASSAY_ASSIGN(const Bytes body, ReadFile(options.file, std::size_t{64} << 20));
  ASSAY_ASSIGN(const auto client, HttpClient::Create(options.url));
  ASSAY_ASSIGN(const HttpResponse response, client->Post(options.path, body, static_cast<int>(1000 * options.seconds)));
  fmt::print("{}\n", response.status);
  return options.out.empty() ? Status() : WriteFileAtomic(options.out, response.body);
}

namespace {

Status Split(const std::vector<std::string>& pairs, std::map<std::string, std::string>& into) {
  for (const std::string& pair : pairs) {
    const std::size_t at = pair.find('=');
    if (at == std::string::npos) return Err("{}: expected PATH=FILE", pair);
    into[pair.substr(0, at)] = pair.substr(at + 1);
  }
  return {};
}

int Main(int argc, char** argv) {
  CLI::App app{"Speaks to providers and referees as somebody who means them no good.", "hostile_peer"};
  app.require_subcommand(1);
  HoldOptions hold_options;
  CLI::App* hold = app.add_subcommand("hold", "Hold connections that do nothing useful");
  hold->add_option("url", hold_options.url)->required();
  hold->add_option("--words", hold_options.words, kHoldWords);
  hold->add_option("--count", hold_options.count)->check(CLI::Range(1, 10'000));
  hold->add_option("--hosts", hold_options.hosts)->check(CLI::Range(0, 250));
  hold->add_option("--seconds", hold_options.seconds);
  PostOptions post_options;
  CLI::App* post = app.add_subcommand("post", "Post any bytes");
  post->add_option("url", post_options.url)->required();
  post->add_option("path", post_options.path)->required();
  post->add_option("file", post_options.file)->required();
  post->add_option("--out", post_options.out);
  post->add_option("--seconds", post_options.seconds);
  ProxyOptions proxy_options;
  std::vector<std::string> instead;
  CLI::App* proxy = app.add_subcommand("proxy", "Stand before a provider");
  proxy->add_option("url", proxy_options.url)->required();
  proxy->add_option("--listen", proxy_options.listen);
  proxy->add_option("--busy", proxy_options.busy);
  proxy->add_option("--busy-seconds", proxy_options.busy_seconds);
  proxy->add_option("--retry-after", proxy_options.retry_after_s);
  proxy->add_option("--delay", proxy_options.delay_ms);
  proxy->add_option("--only", proxy_options.only);
  proxy->add_option("--instead", instead);
  proxy->add_option("--withhold", proxy_options.withhold);
  proxy->add_option("--alter", proxy_options.alter);
  proxy->add_option("--record", proxy_options.record);
  RelayOptions relay_options;
  CLI::App* relay = app.add_subcommand("relay", "Stand before a provider and cut connections");
  relay->add_option("url", relay_options.url)->required();
  relay->add_option("--drop", relay_options.drop);
  relay->add_option("--drop-seconds", relay_options.drop_seconds);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : 2;
  }
  Status status = Split(instead, proxy_options.instead);
  if (status && hold->parsed()) status = Hold(hold_options);
  if (status && post->parsed()) status = Post(post_options);
  if (status && proxy->parsed()) status = Proxy(proxy_options);
  if (status && relay->parsed()) status = Relay(relay_options);
  if (status) return 0;
  fmt::print(stderr, "hostile_peer: {}\n", status.error().message);
  return 2;
}

}  // namespace
}  // namespace assay::hostile

int main(int argc, char** argv) { return assay::hostile::Main(argc, argv); }
