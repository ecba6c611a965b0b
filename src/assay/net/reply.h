// The answer to one request, which may be given later and by any thread: a long poll or a live stream holds a connection, not a worker.
//
// A Reply is answered once, by Send, SendFile or Begin. None of them waits for the peer: they hand over what is to be sent, and the
// server sends it as the peer reads. A Reply that is destroyed unanswered makes a 500. Replies and streams may outlive the server, which
// answers 503 to the unanswered and cuts the streams when it stops; everything then returns false.
//
// A peer that leaves is noticed from when the handler has returned on; one that has closed its side only counts as gone as well, since
// nothing tells the two apart.
//
// Thread safe, but for moving and destroying, which are the owner's.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "assay/net/file_range.h"
#include "assay/net/http.h"

namespace assay {

struct StreamTerms {
  std::size_t max_queued_bytes = 256 << 10;  // that wait for the peer; one that is further behind is dropped
  int keep_alive_ms = 15'000;                // of silence, before `keep_alive` is sent; 0: never
  std::string keep_alive = ":\n\n";          // a comment among server-sent events (event_stream.h)
};

class ReplyState;

// An answer without a length, to which pieces are added over time. Destroyed before Finish it is cut, which the peer can tell.
class ReplyStream {
 public:
  ReplyStream() = default;  // one that has ended
  explicit ReplyStream(std::shared_ptr<ReplyState> state) : state_(std::move(state)) {}
  ReplyStream(ReplyStream&&) noexcept = default;
  ReplyStream& operator=(ReplyStream&& other) noexcept;
  ~ReplyStream();

  // Adds a piece, which is sent at once. False where the stream has ended: the peer is gone, was dropped, or Finish was called.
  bool Write(std::string_view piece);
  // Ends the answer after what has been written.
  void Finish();

  bool gone() const;         // nobody reads any more
  bool fell_behind() const;  // and that because the peer read too slowly, and was dropped
  // As of Reply. The callback may destroy other streams, not this one.
  void OnGone(std::function<void()> callback);

 private:
  std::shared_ptr<ReplyState> state_;
};

class Reply {
 public:
  explicit Reply(std::shared_ptr<ReplyState> state) : state_(std::move(state)) {}
  Reply(Reply&&) noexcept = default;
  Reply& operator=(Reply&& other) noexcept;
  ~Reply();

  // False, and without effect, where the peer is gone or the answer has been given.
  bool Send(HttpResponse response);
  // `head`: the answer but for its body.
  bool SendFile(HttpResponse head, FileRange range);
  // An ended stream where the peer is gone or the answer has been given.
  ReplyStream Begin(HttpResponse head, StreamTerms terms = {});

  bool gone() const;
  // Called once if the peer leaves before the answer has been given: at once where it has left, otherwise by the thread of input and
  // output, so that it must not wait or throw. It is dropped, uncalled, when the answer is given.
  void OnGone(std::function<void()> callback);

 private:
  std::shared_ptr<ReplyState> state_;
};

}  // namespace assay
