// One connection of a server: its requests one after the other, each with its body, its handler and its answer.
//
// All of it runs on the thread of input and output, in one coroutine, which waits for one thing at a time: the peer, or a word from
// another thread (Wake). Where both may come first it reads from the peer, and the word interrupts the reading. What arrives meanwhile
// is kept for the next request; a peer that sends much ahead is not read, and its leaving shows when it is written to.
//
// Included by http_server.cc alone, because Boost takes long to compile.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>

#include "assay/net/places.h"
#include "assay/net/reply_state.h"
#include "assay/net/server_messages-inl.h"
#include "assay/net/service.h"
#include "assay/net/work_queue.h"

namespace assay::net_internal {

// What all connections of a server share. Of the thread of input and output alone, but for the queues.
struct Common {
  const ServerOptions& options;
  Service service;
  HttpServer::AtOnce at_once;
  asio::io_context& io;
  Places& places;
  WorkQueue& workers;
  WorkQueue& transfers;
  std::function<void(Places::Id)> close;
  bool stopping = false;   // no further request is read
  bool giving_up = false;  // no handler runs any more, and what is unanswered gets 503
};

// Work that waits for a disk, on a thread for transfers.
struct Errand {
  std::function<void()> work;
  bool finished = false;  // of the thread of input and output
};

class Session : public std::enable_shared_from_this<Session> {
 public:
  Session(Common& common, Places::Id id, std::string address, std::string peer, Link link)
      : common_(common),
        id_(id),
        address_(std::move(address)),
        peer_(std::move(peer)),
        link_(std::move(link)),
        bell_(common.io) {}

  asio::awaitable<void> Serve();

  void Close() { link_.tcp().close(); }
  // Something has changed that the connection may be waiting for.
  void Wake();
  // Ends what may take long, for a server that stops.
  void Stop();

 private:
  enum class Next { kRequest, kLastWords, kEnd };
  struct Request {
    RequestParser parser;
    SteadyTime begun;
    HttpRequest message;
    bool head = false;
    bool keep_alive = false;
    bool passed_by = false;  // all of the body was read, past the parser
    bool is_whole() const { return passed_by || parser.is_done(); }
  };

  OwnWords Own(const HttpRequest* request = nullptr) const { return {common_.options, address_, request}; }
  asio::awaitable<Next> ServeRequest();
  asio::awaitable<Next> Follow(Request& request, Course course);
  bool Rename(const std::string& name);
  asio::awaitable<error_code> ReadBodyOf(Request& request, const Course& course, std::optional<HttpResponse>& refusal);
  asio::awaitable<error_code> ReadIntoSink(Request& request, std::shared_ptr<BodySink> sink,
                                           std::optional<HttpResponse>& refusal);
  asio::awaitable<Next> Handle(Request& request, Course course);
  void Dispatch(HttpRequest message, Course course, const std::shared_ptr<ReplyState>& state);
  asio::awaitable<bool> AwaitAnswer(ReplyState& state);
  asio::awaitable<Next> Send(const Request& request, HttpResponse response);
  asio::awaitable<Next> SendFile(const Request& request, ReplyState::Given given);
  asio::awaitable<Next> SendStream(const Request& request, ReplyState& state, ReplyState::Given given);
  asio::awaitable<error_code> WriteStream(ReplyState& state, const StreamTerms& terms, bool chunked);
  asio::awaitable<error_code> WritePiece(std::string_view piece, bool chunked);
  asio::awaitable<bool> AwaitPeerOrWord();
  asio::awaitable<void> AwaitWord();
  asio::awaitable<void> AwaitErrand(const Errand& errand);
  std::shared_ptr<Errand> Begin(std::function<void()> work);

  Common& common_;
  const Places::Id id_;
  const std::string address_;  // of the peer, as handlers see it
  std::string peer_;           // as places and turns are counted
  Link link_;
  asio::steady_timer bell_;            // never reached; cancelling it wakes
  bool watching_ = false;              // reads only to see whether the peer leaves
  bool cut_on_stop_ = false;           // does what may take long
  std::shared_ptr<ReplyState> reply_;  // of the request that is being handled or answered
};

inline asio::awaitable<void> Session::Serve() {
#ifdef ASSAY_HAVE_TLS
  link_.tcp().expires_after(milliseconds(common_.options.header_timeout_ms));
  const error_code error = co_await link_.Handshake(asio::ssl::stream_base::server);
  if (error) co_return;
#endif
  Next next = Next::kRequest;
  while (next == Next::kRequest && !common_.stopping) {
    next = co_await ServeRequest();
    cut_on_stop_ = false;
    if (next == Next::kRequest) common_.places.Set(id_, Places::Doing::kWaiting);
    // Room that a large message took is not kept for small ones.
    if (link_.unread().size() == 0 && link_.unread().capacity() > 2 * kIdleBytes) link_.unread().shrink_to_fit();
  }
  if (next == Next::kEnd) co_return;
  common_.places.Set(id_, Places::Doing::kLeaving);
  co_await Linger(link_.tcp());
}

inline void Session::Wake() {
  if (reply_ != nullptr && reply_->FellBehind()) return Close();
  if (watching_) {
    link_.tcp().cancel();
  } else {
    bell_.cancel();
  }
}

inline void Session::Stop() {
  if (cut_on_stop_ || !common_.places.IsAtWork(id_)) Close();
  Wake();
}

inline asio::awaitable<Session::Next> Session::ServeRequest() {
  Request request;
  const error_code error = co_await ReadRequestHeader(link_, request.parser, common_.options, request.begun);
  if (error) {
    std::optional<HttpResponse> complaint = Own().Complaint(error);
    if (!complaint) co_return Next::kEnd;
    co_return co_await Send(request, *std::move(complaint));
  }
  request.message = Convert(request.parser.get(), address_);
  request.head = request.parser.get().method() == http::verb::head;
  if (const std::string_view fault = FramingFault(request.parser.get()); !fault.empty()) {
    co_return co_await Send(request, Own(&request.message).Say(400, fault));
  }
  request.keep_alive = request.parser.keep_alive();
  Course course = common_.service(request.message);
  co_return co_await Follow(request, std::move(course));
}

inline asio::awaitable<Session::Next> Session::Follow(Request& request, Course course) {
  if (!course.peer.empty() && !Rename(course.peer)) {
    course.answer = Own(&request.message).Later("too many connections of this peer");
    request.keep_alive = false;
  }
  if (!course.answer && !course.handler) course.answer = Own(&request.message).Say(404, "there is nothing here");
  if (!course.answer) {
    const error_code error = co_await ReadBodyOf(request, course, course.answer);
    if (error && !course.answer) course.answer = Own(&request.message).Complaint(error);
    if (error && !course.answer) co_return Next::kEnd;
  }
  if (course.answer) {
    request.keep_alive = request.keep_alive && request.is_whole();
    co_return co_await Send(request, *std::move(course.answer));
  }
  co_return co_await Handle(request, std::move(course));
}

// Names cannot be mistaken for addresses, which have no '@'.
inline bool Session::Rename(const std::string& name) {
  std::string peer = "@" + name;
  if (peer == peer_) return true;
  const Places::Naming naming = common_.places.Name(id_, peer);
  if (naming.dismissed) common_.close(*naming.dismissed);
  if (naming.admitted) peer_ = std::move(peer);
  return naming.admitted;
}

// `refusal`: where there is one, the answer; the rest of the body is then unread.
inline asio::awaitable<error_code> Session::ReadBodyOf(Request& request, const Course& course,
                                                       std::optional<HttpResponse>& refusal) {
  RequestParser& parser = request.parser;
  if (parser.is_done()) co_return error_code();
  const std::uint64_t limit = course.max_body_bytes.value_or(common_.options.max_body_bytes);
  if (parser.content_length().value_or(0) > limit) co_return error_code(make_error_code(http::error::body_limit));
  parser.body_limit(limit);
  link_.tcp().expires_at(request.begun + milliseconds(common_.options.read_timeout_ms));
  error_code error;
  if (beast::iequals(parser.get()[http::field::expect], "100-continue")) {
    error = co_await link_.Write("HTTP/1.1 100 Continue\r\n\r\n", {});
  }
  if (!error && course.sink == nullptr) {
    error = co_await ReadBody(link_, parser, request.message.body, common_.options.max_header_bytes);
  } else if (!error) {
    common_.places.Set(id_, Places::Doing::kSending);
    cut_on_stop_ = true;
    error = co_await ReadIntoSink(request, course.sink, refusal);
    cut_on_stop_ = false;
  }
  co_return error;
}

// Two pieces: one is filled while the sink takes the other. They grow while the sink agrees, so that threads seldom wait for each other in a long body, and a
// stranger's costs little before the sink has seen who it is.
inline asio::awaitable<error_code> Session::ReadIntoSink(Request& request, std::shared_ptr<BodySink> sink,
                                                         std::optional<HttpResponse>& refusal) {
  struct Taking {
    std::shared_ptr<BodySink> sink;
    Bytes piece;
    std::optional<HttpResponse> refusal;
    bool failed = false;
    void operator()() {
      try {
        refusal = sink->Take(piece);
      } catch (...) {
        failed = true;
      }
    }
  };
  const auto taking = std::make_shared<Taking>(Taking{.sink = std::move(sink), .piece = {}, .refusal = {}});
  std::shared_ptr<Errand> errand;
  Pace pace(common_.options.read_timeout_ms, common_.options.slowest_bytes_per_s);
  Bytes filling;
  std::size_t piece_bytes = kTransferBytes;
  error_code error;
  std::optional<std::uint64_t> left;  // nothing for chunks
  if (const auto known = request.parser.content_length_remaining()) left = *known;
  while (!error && !refusal) {
    filling.resize(piece_bytes);
    std::size_t filled = 0;
    while (filled < filling.size() && left != 0) {
      link_.tcp().expires_at(pace.Deadline());
      const std::span<std::uint8_t> rest = std::span(filling).subspan(filled);
      std::size_t got = 0;
      if (left) {
        got = co_await ReadKnownSome(link_, rest, *left, error);
      } else {
        got = co_await ReadBodySome(link_, request.parser, rest, common_.options.max_header_bytes, error);
      }
      if (error || got == 0) break;
      filled += got;
      pace.Count(got);
    }
    request.passed_by = left == 0;
    if (errand != nullptr) {
      const SteadyTime before = std::chrono::steady_clock::now();
      co_await AwaitErrand(*errand);
      pace.Excuse(std::chrono::steady_clock::now() - before);
      refusal = taking->failed ? Own().Say(500, "the body could not be taken") : std::move(taking->refusal);
      piece_bytes = std::min(2 * piece_bytes, kMostTransferBytes);
    }
    if (error || refusal || filled == 0) break;
    filling.resize(filled);
    taking->piece.swap(filling);
    errand = Begin([taking] { (*taking)(); });
    if (errand == nullptr) error = asio::error::operation_aborted;
  }
  co_return refusal ? error_code() : error;
}

inline asio::awaitable<Session::Next> Session::Handle(Request& request, Course course) {
  common_.places.Set(id_, Places::Doing::kBusy);
  link_.tcp().expires_never();
  if (common_.at_once) {
    if (std::optional<HttpResponse> response = common_.at_once(request.message)) {
      co_return co_await Send(request, *std::move(response));
    }
  }
  // However this ends, whoever holds the reply learns of it.
  struct Leaver {
    std::shared_ptr<ReplyState>& state;
    ~Leaver() { std::exchange(state, nullptr)->Leave(); }
  };
  const std::weak_ptr<Session> self = weak_from_this();
  reply_ = std::make_shared<ReplyState>([self, &io = common_.io] {
    asio::post(io, [self] {
      if (const auto session = self.lock()) session->Wake();
    });
  });
  const Leaver leaver{reply_};
  // What the request was, for whoever writes down that nothing came of it.
  const HttpRequest asked{
      .method = request.message.method, .target = request.message.target, .headers = {}, .body = {}, .peer = address_};
  Dispatch(std::move(request.message), std::move(course), reply_);
  const bool stayed = co_await AwaitAnswer(*reply_);
  if (!stayed) co_return Next::kEnd;
  ReplyState::Given given = reply_->Take();
  if (given.dropped) {
    given = {.head = Own(&asked).Say(500, "the request was dropped"), .file = {}, .stream = {}};
  } else if (const std::string_view fault = Fault(given.head); !fault.empty()) {
    given = {.head = Own(&asked).Say(500, fault), .file = {}, .stream = {}};
  }
  if (given.file) co_return co_await SendFile(request, std::move(given));
  if (given.stream) co_return co_await SendStream(request, *reply_, std::move(given));
  co_return co_await Send(request, std::move(given.head));
}

inline void Session::Dispatch(HttpRequest message, Course course, const std::shared_ptr<ReplyState>& state) {
  struct Call {
    std::function<void(HttpRequest, Reply)> handler;
    HttpRequest message;
    Reply reply;
    std::shared_ptr<ReplyState> state;
    const ServerOptions& options;
    const std::string peer;
    void Run() {
      try {
        handler(std::move(message), std::move(reply));
      } catch (...) {
        state->Drop();  // where the reply was not destroyed on the way
      }
      state->SetReturned();
    }
    void PutOff(std::string_view why) { reply.Send(OwnWords{options, peer, &message}.Later(why)); }
  };
  const auto call = std::make_shared<Call>(
      Call{std::move(course.handler), std::move(message), Reply(state), state, common_.options, address_});
  if (course.at_once) return call->Run();
  const auto lane = course.background ? WorkQueue::Lane::kBackground : WorkQueue::Lane::kOrdinary;
  const auto take_turn = [call](WorkQueue::Turn turn) {
    switch (turn) {
      case WorkQueue::Turn::kRun: call->Run(); break;
      case WorkQueue::Turn::kDisplaced: call->PutOff("the server is busy"); break;
      case WorkQueue::Turn::kStopping: call->PutOff("the server is stopping"); break;
    }
  };
  const bool queued = common_.workers.TryPush(peer_, take_turn, lane);
  if (!queued) call->PutOff("the server is busy");
}

// False where the peer has left. While a handler runs it is not looked for: one that has said all it has to say may have closed its side.
inline asio::awaitable<bool> Session::AwaitAnswer(ReplyState& state) {
  while (!state.IsGiven()) {
    if (common_.giving_up) {
      state.Give({.head = Own().Later("the server is stopping"), .file = {}, .stream = {}});
    } else if (!state.IsReturned()) {
      co_await AwaitWord();
    } else {
      const bool stayed = co_await AwaitPeerOrWord();
      if (!stayed) co_return false;
    }
  }
  co_return true;
}

inline asio::awaitable<bool> Session::AwaitPeerOrWord() {
  if (link_.unread().size() >= kIdleBytes) {
    co_await AwaitWord();
    co_return true;
  }
  link_.tcp().expires_never();
  error_code error;
  watching_ = true;
  const std::size_t got = co_await link_.ReadSome(link_.unread().prepare(kIdleBytes), error);
  watching_ = false;
  link_.unread().commit(got);
  co_return !error || (error == asio::error::operation_aborted && link_.tcp().socket().is_open());
}

inline asio::awaitable<void> Session::AwaitWord() {
  bell_.expires_at(SteadyTime::max());
  error_code ignored;
  co_await bell_.async_wait(Into(ignored));
}

inline asio::awaitable<void> Session::AwaitErrand(const Errand& errand) {
  while (!errand.finished) co_await AwaitWord();
}

// Null where the server stops.
inline std::shared_ptr<Errand> Session::Begin(std::function<void()> work) {
  const auto errand = std::make_shared<Errand>(Errand{.work = std::move(work)});
  const bool begun = common_.transfers.TryPush(peer_, [errand, self = shared_from_this()](WorkQueue::Turn) {
    errand->work();
    asio::post(self->common_.io, [errand, self] {
      errand->finished = true;
      self->Wake();
    });
  });
  return begun ? errand : nullptr;
}

}  // namespace assay::net_internal

#include "assay/net/session_send-inl.h"
