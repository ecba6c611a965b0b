// How a connection of a server sends its answers: whole, from a file, or as a stream. The second part of session-inl.h.
#pragma once

#include <array>
#include <utility>

#include "assay/net/session-inl.h"

namespace assay::net_internal {

inline asio::awaitable<Session::Next> Session::Send(const Request& request, HttpResponse response) {
  common_.places.Set(id_, Places::Doing::kSending);
  if (const std::string_view fault = Fault(response); !fault.empty()) response = Own().Say(500, fault);
  const bool keep_alive = request.keep_alive && !common_.stopping;
  const error_code error = co_await WriteResponse(link_, std::move(response), request.head, keep_alive, common_.options);
  if (error) co_return Next::kEnd;
  co_return keep_alive ? Next::kRequest : Next::kLastWords;
}

// Two pieces: one is read from the file while the peer takes the other. What the system has in memory is read here, because the way
// to another thread and back takes longer than that; what is on a disk is not.
inline asio::awaitable<Session::Next> Session::SendFile(const Request& request, ReplyState::Given given) {
  struct Reading {
    FileRange range;
    std::uint64_t end = 0;  // of the piece
    Bytes piece{};
    bool failed = false;
    std::uint64_t begin() const { return end - piece.size(); }
    void operator()() { failed = !range.Read(begin(), piece.data(), piece.size()); }
  };
  const auto reading = std::make_shared<Reading>(Reading{.range = *std::move(given.file)});
  const std::uint64_t length = reading->range.length();
  std::shared_ptr<Errand> errand;  // null where the piece is there already
  const auto begin_next = [&] {    // false at the end, and where the server stops
    errand = nullptr;
    if (reading->end == length) return false;
    reading->piece.resize(static_cast<std::size_t>(std::min<std::uint64_t>(kTransferBytes, length - reading->end)));
    reading->end += reading->piece.size();
    if (reading->range.ReadAtOnce(reading->begin(), reading->piece.data(), reading->piece.size())) return true;
    errand = Begin([reading] { (*reading)(); });
    return errand != nullptr;
  };
  common_.places.Set(id_, Places::Doing::kSending);
  cut_on_stop_ = true;
  const bool keep_alive = request.keep_alive && !common_.stopping;
  const std::string header =
      ResponseHeader(given.head, {.body = Framing::Body::kLength, .length = length, .keep_alive = keep_alive});
  const bool bare = request.head || IsBare(given.head.status);
  Pace pace(common_.options.write_timeout_ms, common_.options.slowest_bytes_per_s);
  link_.tcp().expires_at(pace.Deadline());
  error_code error = co_await link_.Write(header, {});
  Bytes sending;
  std::uint64_t sent = 0;
  for (bool more = !bare && begin_next(); more && !error;) {
    const SteadyTime before = std::chrono::steady_clock::now();
    if (errand != nullptr) co_await AwaitErrand(*errand);
    if (reading->failed) co_return Next::kEnd;
    pace.Excuse(std::chrono::steady_clock::now() - before);
    sending.swap(reading->piece);
    more = begin_next();
    link_.tcp().expires_at(pace.Deadline());
    error = co_await link_.Write({}, sending);
    sent += sending.size();
    pace.Count(sending.size());
  }
  if (error || (!bare && sent < length)) co_return Next::kEnd;
  co_return keep_alive ? Next::kRequest : Next::kLastWords;
}

inline asio::awaitable<Session::Next> Session::SendStream(const Request& request, ReplyState& state, ReplyState::Given given) {
  common_.places.Set(id_, Places::Doing::kSending);
  cut_on_stop_ = true;
  const bool chunked = request.parser.get().version() >= 11;
  const bool keep_alive = request.keep_alive && chunked && !common_.stopping;
  const std::string header = ResponseHeader(
      given.head, {.body = chunked ? Framing::Body::kChunks : Framing::Body::kToTheEnd, .keep_alive = keep_alive});
  link_.tcp().expires_after(milliseconds(common_.options.write_timeout_ms));
  error_code error = co_await link_.Write(header, {});
  if (!error && !request.head && !IsBare(given.head.status)) error = co_await WriteStream(state, *given.stream, chunked);
  if (error) co_return Next::kEnd;
  co_return keep_alive ? Next::kRequest : Next::kLastWords;
}

// An error where the stream is cut, by whichever side.
inline asio::awaitable<error_code> Session::WriteStream(ReplyState& state, const StreamTerms& terms, bool chunked) {
  const error_code cut = asio::error::operation_aborted;
  asio::steady_timer tick(common_.io);
  SteadyTime quiet_since = std::chrono::steady_clock::now();
  const auto is_quiet = [&] { return quiet_since + milliseconds(terms.keep_alive_ms) <= std::chrono::steady_clock::now(); };
  for (;;) {
    ReplyState::Queued queued = state.TakeQueued();
    if (queued.cut || common_.stopping) co_return cut;
    if (queued.bytes.empty() && !queued.ended && terms.keep_alive_ms > 0 && is_quiet()) queued.bytes = terms.keep_alive;
    if (!queued.bytes.empty()) {
      const error_code error = co_await WritePiece(queued.bytes, chunked);
      if (error) co_return error;
      quiet_since = std::chrono::steady_clock::now();
    } else if (queued.ended) {
      error_code error;
      if (chunked) error = co_await WritePiece({}, chunked);
      co_return error;
    } else {
      if (terms.keep_alive_ms > 0) {
        tick.expires_at(quiet_since + milliseconds(terms.keep_alive_ms));
        tick.async_wait([self = shared_from_this()](const error_code& error) {
          if (!error) self->Wake();
        });
      }
      const bool stayed = co_await AwaitPeerOrWord();
      if (!stayed) co_return cut;
    }
  }
}

// The empty piece is the last chunk.
inline asio::awaitable<error_code> Session::WritePiece(std::string_view piece, bool chunked) {
  const auto size = static_cast<std::int64_t>(piece.size());
  link_.tcp().expires_after(milliseconds(common_.options.write_timeout_ms + size * 1000 / common_.options.slowest_bytes_per_s));
  const std::string framed = chunked ? fmt::format("{:x}\r\n{}\r\n", piece.size(), piece) : std::string(piece);
  const error_code error = co_await link_.Write(framed, {});
  co_return error;
}

}  // namespace assay::net_internal
