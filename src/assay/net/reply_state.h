// What a Reply or its stream and the connection that sends it share. Thread safe.
//
// Life: open, then given (whole, a file, or a stream), or over at any time: the connection leaves and nothing more can be said. The
// sender's side never waits; the connection's side takes what is there and is woken when there is more.
#pragma once

#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

#include "assay/net/http.h"
#include "assay/net/reply.h"

namespace assay {

class ReplyState {
 public:
  // `wake` tells the connection that something has changed. Called by any thread, under the lock: it must not call back.
  explicit ReplyState(std::function<void()> wake) : wake_(std::move(wake)) {}

  // An answer as far as it is known when it is given.
  struct Given {
    HttpResponse head;
    std::optional<FileRange> file;      // instead of the body
    std::optional<StreamTerms> stream;  // instead of the body
    bool dropped = false;               // nobody has said anything, and nobody will: the connection finds words of its own
  };

  // The sender's side.
  bool Give(Given given);
  bool Drop() { return Give({.head = {}, .file = {}, .stream = {}, .dropped = true}); }
  bool Append(std::string_view piece);
  void End(bool whole);
  bool IsGone() const;
  bool FellBehind() const;
  void OnGone(std::function<void()> callback);

  // The connection's side. The handler that was given the Reply has returned: who has not been answered waits from here on.
  void SetReturned();
  bool IsReturned() const;
  bool IsGiven() const;
  // Once, after IsGiven.
  Given Take();
  struct Queued {
    std::string bytes;
    bool ended = false;  // nothing comes after them
    bool cut = false;    // and what was sent is not whole
  };
  // What was taken before has been sent.
  Queued TakeQueued();
  // The last word of the connection. `wake` is not called afterwards.
  void Leave();

 private:
  void Wake();

  mutable std::mutex mutex_;
  std::function<void()> wake_;  // empty once the connection has left
  std::optional<Given> given_;
  bool is_given_ = false;
  bool returned_ = false;
  bool gone_ = false;  // has left before the end
  bool fell_behind_ = false;
  bool is_stream_ = false;
  Queued queued_;
  std::size_t in_flight_ = 0;  // bytes of a stream that the connection has taken and may not have sent
  std::size_t max_queued_bytes_ = 0;
  std::function<void()> on_gone_;
};

}  // namespace assay
