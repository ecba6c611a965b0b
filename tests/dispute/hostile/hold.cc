#include <chrono>
#include <cstdio>
#include <thread>
#include <vector>

#include "hostile.h"
#include "sockets.h"

namespace assay::hostile {
namespace {

using std::chrono::steady_clock;

constexpr std::chrono::milliseconds kBeat(100);

struct Words {
  std::string_view first;  // when the connection is there
  std::string_view beat;   // on every beat
  bool reads = true;
};

Result<Words> WordsOf(const std::string& name) {
  if (name == "silent") return Words{.first = "", .beat = ""};
  if (name == "header") return Words{.first = "GET /v1/receipt HTTP/1.1\r\nX: ", .beat = "x"};
  if (name == "body") return Words{.first = "POST /v1/answer HTTP/1.1\r\nContent-Length: 10000\r\n\r\n", .beat = "x"};
  if (name == "asked") return Words{.first = "GET /v1/receipt HTTP/1.1\r\nHost: x\r\n\r\n", .beat = ""};
  if (name == "unread") return Words{.first = "GET /v1/program HTTP/1.1\r\nHost: x\r\n\r\n", .beat = "", .reads = false};
  return Err("{}: expected silent, header, body, asked or unread", name);
}

}  // namespace

Status Hold(const HoldOptions& options) {
  ASSAY_ASSIGN(const sockaddr_in address, AddressOf(options.url));
  ASSAY_ASSIGN(const Words words, WordsOf(options.words));
  std::vector<Socket> held(static_cast<std::size_t>(options.count));
  std::size_t opened = 0;
  const auto start = steady_clock::now();
  for (bool first = true; steady_clock::now() - start < std::chrono::duration<double>(options.seconds); first = false) {
    for (std::size_t i = 0; i < held.size(); ++i) {
      if (held[i] && ((words.reads && held[i].IsClosed()) || !held[i].SendSome(words.beat))) held[i] = Socket();
      if (held[i]) continue;
      held[i] = ConnectTo(address, options.hosts > 0 ? 2 + static_cast<int>(i) % options.hosts : 0);
      if (!held[i]) continue;
      ++opened;
      if (!held[i].SendSome(words.first)) held[i] = Socket();
    }
    if (first) {
      fmt::print("holding {}\n", held.size());
      std::fflush(stdout);
    }
    std::this_thread::sleep_for(kBeat);
  }
  fmt::print("opened {}\n", opened);
  return {};
}

}  // namespace assay::hostile
