// Wires: thousands of HTTP/1.1 connections to a server on this machine, on one thread and with little work for each, for programs that share their processors
// with the server that they measure.
//
// Each wire has at most one request under way: an exchange, whose answer has a Content-Length, or a stream, which comes in chunks until the end. Callbacks run
// within Turn and may send again on any wire. Not thread safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "assay/base/result.h"

namespace assay::wires {

// `status` 0: the connection has ended, and `body` says why.
using Answered = std::function<void(int status, std::string_view body)>;
// The pieces of a stream. At its end, or where the answer is no stream, `over`; `piece` then says why.
using Streamed = std::function<void(std::string_view piece, bool over)>;

struct Message {
  std::string_view method, target, token;
  std::vector<std::pair<std::string, std::string>> headers{};
  std::string_view body{};
};
std::string Write(const Message& message);

class Wires {
 public:
  explicit Wires(std::uint16_t port);
  ~Wires();
  Wires(const Wires&) = delete;
  Wires& operator=(const Wires&) = delete;

  using Id = std::size_t;
  // One that connects with its first request: a server may close connections that say nothing.
  Id Add();
  void Send(Id id, const std::string& request, Answered answered);
  void Listen(Id id, const std::string& request, Streamed streamed);
  bool IsBusy(Id id) const { return wires_[id]->answered || wires_[id]->streamed; }
  // Takes what has arrived, and waits up to `timeout_ms` where nothing has.
  void Turn(int timeout_ms);

 private:
  struct Wire {
    int descriptor = -1;
    bool is_new = true;  // has not connected yet
    bool asks_to_write = false;
    Answered answered{};
    Streamed streamed{};
    bool streams = false;        // the header of a stream has come
    std::size_t chunk_left = 0;  // bytes of the chunk that is being read
    std::string in{}, out{};
  };

  void Begin(Id id, const std::string& request);
  Status Connect(Wire& wire, Id id);
  void Flush(Wire& wire, Id id);
  void Receive(Wire& wire);
  void TakeAnswer(Wire& wire);
  void TakeStream(Wire& wire);
  void End(Wire& wire, std::string_view why);
  void Watch(const Wire& wire, Id id, int how) const;

  const std::uint16_t port_;
  const int poll_;
  std::vector<std::unique_ptr<Wire>> wires_;
  std::vector<char> piece_;
};

}  // namespace assay::wires
