// What becomes of a request, decided by the service when its header is there and its body is not.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "assay/base/bytes.h"
#include "assay/net/http.h"
#include "assay/net/reply.h"

namespace assay {

// Takes a body that is not held in memory. The next piece is read while it works on one; the peer waits where it is slower than the network.
class BodySink {
 public:
  // Destroyed by any thread, also before the body's end where the peer or the server leaves.
  virtual ~BodySink() = default;
  // On a thread for transfers, never by two at once; it may wait for a disk. An answer ends the request with it: the rest of the body is
  // refused, and the connection closed.
  virtual std::optional<HttpResponse> Take(ByteSpan piece) = 0;
};

// One of `answer` and `handler`; with neither the answer is 404.
struct Course {
  // Given at once. A body stays unread, and the connection is then closed.
  std::optional<HttpResponse> answer{};
  // Called by a worker when the whole request is there; what it throws is a 500. With a sink the request's body is empty.
  std::function<void(HttpRequest request, Reply reply)> handler{};
  // Called by the thread of input and output instead: for handlers that neither wait nor work, but keep their reply.
  bool at_once = false;
  // One of very many that nobody waits for, such as a report: takes turns with all others as a group, so that these are not kept waiting by the number of its
  // kind.
  bool background = false;
  // Whose turn it is, where that is known better than by the address: a tenant, a worker. Limits for one peer go by it, for the
  // connection too, from this request on.
  std::string peer{};
  std::optional<std::size_t> max_body_bytes{};  // of this request: the server's where it is not said; more gets 413
  std::shared_ptr<BodySink> sink{};             // null: the body is held in memory
};

// On the thread of input and output: must not wait, work or throw. The request has no body yet.
using Service = std::function<Course(const HttpRequest& head)>;

}  // namespace assay
