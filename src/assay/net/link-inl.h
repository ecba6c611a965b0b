// What the client and the server share of Boost: a connection, plain or with TLS, and the reading of one message from it.
//
// Included for http_client.cc and http_server.cc alone, because Boost takes long to compile. For the same reason the streams are used through
// reads and writes of some bytes and nothing larger: every composed operation would be compiled once for each kind of stream.
#pragma once

#include <algorithm>
#include <array>
#include <optional>
#include <span>
#include <string_view>
#include <utility>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/core/tcp_stream.hpp>
#include <boost/beast/http/buffer_body.hpp>
#include <boost/beast/http/parser.hpp>
#ifdef ASSAY_HAVE_TLS
#include <boost/asio/ssl.hpp>
#endif

#include "assay/base/bytes.h"

namespace assay::net_internal {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = boost::beast::http;
using boost::system::error_code;

// The completion of an operation of Asio that reports into `error` instead of throwing.
inline auto Into(error_code& error) { return asio::redirect_error(asio::use_awaitable, error); }

// Whether the peer is to blame for what it sent.
inline bool IsHttpError(const error_code& error) {
  return error.category() == http::make_error_code(http::error::bad_method).category();
}

class Link {
 public:
  explicit Link(asio::ip::tcp::socket socket) : plain_(std::in_place, std::move(socket)) {}
#ifdef ASSAY_HAVE_TLS
  Link(asio::ip::tcp::socket socket, asio::ssl::context& context) : tls_(std::in_place, std::move(socket), context) {}
  beast::tcp_stream& tcp() { return tls_ ? tls_->next_layer() : *plain_; }
  SSL* ssl() { return tls_ ? tls_->native_handle() : nullptr; }

  asio::awaitable<error_code> Handshake(asio::ssl::stream_base::handshake_type side) {
    error_code error;
    if (tls_) co_await tls_->async_handshake(side, Into(error));
    co_return error;
  }
#else
  beast::tcp_stream& tcp() { return *plain_; }
#endif

  beast::flat_buffer& unread() { return unread_; }  // what has been read and not yet parsed
  const beast::flat_buffer& unread() const { return unread_; }

  asio::awaitable<std::size_t> ReadSome(asio::mutable_buffer into, error_code& error) {
#ifdef ASSAY_HAVE_TLS
    if (tls_) co_return co_await tls_->async_read_some(into, Into(error));
#endif
    co_return co_await plain_->async_read_some(into, Into(error));
  }

  asio::awaitable<error_code> Write(std::string_view header, ByteSpan body) {
    std::array<asio::const_buffer, 2> rest{asio::buffer(header), asio::buffer(body.data(), body.size())};
    error_code error;
    while (!error && rest[0].size() + rest[1].size() != 0) {
      std::size_t written = co_await WriteSome(rest, error);
      for (asio::const_buffer& part : rest) {
        const std::size_t of_part = std::min(written, part.size());
        part += of_part;
        written -= of_part;
      }
    }
    co_return error;
  }

 private:
  asio::awaitable<std::size_t> WriteSome(std::array<asio::const_buffer, 2> from, error_code& error) {
#ifdef ASSAY_HAVE_TLS
    if (tls_) co_return co_await tls_->async_write_some(from, Into(error));
#endif
    co_return co_await plain_->async_write_some(from, Into(error));
  }

#ifdef ASSAY_HAVE_TLS
  std::optional<asio::ssl::stream<beast::tcp_stream>> tls_;
#endif
  std::optional<beast::tcp_stream> plain_;
  beast::flat_buffer unread_;
};

constexpr std::size_t kIdleBytes = 1 << 10;          // for the first bytes of a message, which may be long in coming
constexpr std::size_t kPieceBytes = 16 << 10;        // of a message, read at a time
constexpr std::size_t kTransferBytes = 256 << 10;    // the same, of a large one
constexpr std::size_t kMostTransferBytes = 1 << 20;  // the same, of one that has proved to be

template <bool kRequest>
using Parser = http::parser<kRequest, http::buffer_body>;

// Appends what comes next to the unread bytes. At the end of the connection the parser is told, and says what that means.
template <bool kRequest>
asio::awaitable<error_code> ReadMore(Link& link, Parser<kRequest>& parser, std::size_t at_most = kPieceBytes) {
  error_code error;
  const std::size_t got = co_await link.ReadSome(link.unread().prepare(at_most), error);
  link.unread().commit(got);
  if (error == asio::error::eof) {
    error = parser.got_some() ? error_code() : make_error_code(http::error::end_of_stream);
    if (!error) parser.put_eof(error);
  }
  co_return error;
}

// A line that does not end, of a header, before a chunk or after the last one, stays in the buffer and is given up at `max_line` bytes.
template <bool kRequest>
void GiveUpLongLines(const Link& link, const Parser<kRequest>& parser, std::size_t max_line, error_code& error) {
  if (error != http::error::need_more || link.unread().size() <= max_line) return;
  error = parser.is_header_done() ? http::error::bad_chunk_extension : http::error::header_limit;
}

// A line that begins with white space goes on with the one before, for those who know of it; others see two. The parser joins them without a word.
inline bool HasFoldedLine(std::string_view lines) {
  for (std::size_t at = lines.find('\n'); at != std::string_view::npos; at = lines.find('\n', at + 1)) {
    if (at + 1 < lines.size() && (lines[at + 1] == ' ' || lines[at + 1] == '\t')) return true;
  }
  return false;
}

template <bool kRequest>
asio::awaitable<error_code> ReadHeader(Link& link, Parser<kRequest>& parser, std::size_t max_line) {
  beast::flat_buffer& buffer = link.unread();
  while (!parser.is_header_done()) {
    error_code error = http::error::need_more;
    if (buffer.size() != 0) {
      const std::size_t parsed = parser.put(buffer.data(), error);
      if (HasFoldedLine({static_cast<const char*>(buffer.data().data()), parsed})) error = http::error::bad_obs_fold;
      buffer.consume(parsed);
    }
    if (error == http::error::need_buffer) error = {};
    GiveUpLongLines(link, parser, max_line, error);
    if (error == http::error::need_more) error = co_await ReadMore(link, parser);
    if (error) co_return error;
  }
  co_return error_code();
}

// Reads some bytes of the body, after the header; none at its end. The parser enforces its limit.
template <bool kRequest>
asio::awaitable<std::size_t> ReadBodySome(Link& link, Parser<kRequest>& parser, std::span<std::uint8_t> into,
                                          std::size_t max_line, error_code& error) {
  beast::flat_buffer& buffer = link.unread();
  while (!parser.is_done()) {
    std::size_t got = 0;
    error = http::error::need_more;
    if (buffer.size() != 0) {
      parser.get().body() = {into.data(), into.size(), true};
      buffer.consume(parser.put(buffer.data(), error));
      if (error == http::error::need_buffer) error = {};
      got = into.size() - parser.get().body().size;
    }
    GiveUpLongLines(link, parser, max_line, error);
    if (got != 0 && error == http::error::need_more) error = {};
    if (got != 0) co_return got;
    if (error == http::error::need_more)
      error = co_await ReadMore(link, parser, into.size() > kPieceBytes ? kTransferBytes : kPieceBytes);
    if (error) co_return 0;
  }
  co_return 0;
}

// The same of a body whose length is known, past the parser and straight to where the bytes belong. `left`: how many are to come, not 0; the parser does not
// learn of it.
inline asio::awaitable<std::size_t> ReadKnownSome(Link& link, std::span<std::uint8_t> into, std::uint64_t& left,
                                                  error_code& error) {
  beast::flat_buffer& buffer = link.unread();
  std::size_t got = static_cast<std::size_t>(std::min<std::uint64_t>(into.size(), left));
  if (buffer.size() != 0) {
    got = std::min(got, buffer.size());
    std::copy_n(static_cast<const std::uint8_t*>(buffer.data().data()), got, into.begin());
    buffer.consume(got);
  } else {
    got = co_await link.ReadSome(asio::buffer(into.data(), got), error);
    if (error == asio::error::eof) error = make_error_code(http::error::partial_message);
  }
  left -= got;
  co_return got;
}

// All of the body, which grows as its bytes come, whatever length the peer has announced.
template <bool kRequest>
asio::awaitable<error_code> ReadBody(Link& link, Parser<kRequest>& parser, Bytes& body, std::size_t max_line) {
  if (parser.is_done()) co_return error_code();
  std::array<std::uint8_t, kPieceBytes> piece;
  error_code error;
  for (;;) {
    const std::size_t got = co_await ReadBodySome(link, parser, piece, max_line, error);
    body.insert(body.end(), piece.data(), piece.data() + got);
    if (error || got == 0) co_return error;
  }
}

}  // namespace assay::net_internal
