// Door: what every request passes before a route gets it, and every answer after.
//
// Decided on the header alone, before a body is read: that the target is one, that there is such a route, that the body is not too large, that the token is
// known and has the role, and that it does not come too often. What is remembered of tokens decides at once; a token that is not remembered, or not looked up
// of late, is looked up by the thread that handles the request, before it does anything else.
//
// Connections and requests count by account (net/service.h, Course::peer). Whoever fails to authenticate often from one address has to wait. Every answer is
// counted and logged. Thread safe.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "assay/coordinator/metrics.h"
#include "assay/coordinator/rate.h"
#include "assay/coordinator/request_log.h"
#include "assay/coordinator/routes.h"
#include "assay/coordinator/tokens.h"
#include "assay/net/http_server.h"
#include "assay/net/service.h"
#include "assay/store/clock.h"

namespace assay::coordinator {

struct DoorOptions {
  double requests_per_s = 5000;  // of one token; as many at once as in two seconds
  double failures_per_s = 20;    // of one address, without a token that is good; as many at once as in ten seconds
  std::shared_ptr<store::Clock> clock = store::SystemClock();
};

class Door {
 public:
  // All must outlive the door, and the door the server.
  Door(const Routes& routes, Tokens& tokens, RequestLog& log, Metrics& metrics, const DoorOptions& options);

  Course Decide(const HttpRequest& head);
  Service service() {
    return [this](const HttpRequest& head) { return Decide(head); };
  }
  // What the server says by itself: an error like all others, which is counted and logged.
  HttpResponse AnswerOwn(const OwnReply& own);

 private:
  struct Visit;
  class LateUpload;

  // A failure is the answer, given at once.
  Outcome<Course> Admit(const HttpRequest& head, const std::shared_ptr<Visit>& visit);
  Outcome<Caller> Authenticate(Visit& visit);
  Outcome<void> CheckRole(const Route& route, const Caller& caller);
  Outcome<void> CheckRate(const Caller& caller);
  tl::unexpected<Failure> Unauthorized(const Visit& visit);
  void Handle(Visit& visit, HttpRequest request, Responder responder);
  Responder::Note NoteOf(const std::shared_ptr<Visit>& visit);
  void Note(const Visit& visit, int status, const Failure* failure);

  const Routes& routes_;
  Tokens& tokens_;
  RequestLog& log_;
  Metrics& metrics_;
  const std::shared_ptr<store::Clock> clock_;
  RateLimit calls_, failures_;
};

}  // namespace assay::coordinator
