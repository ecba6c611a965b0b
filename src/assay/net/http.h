// What an HTTP request and its answer are to the rest of the program: small messages, held in memory as a whole. What is not small goes in
// pieces: service.h and reply.h for a server, http_client.h.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "assay/base/bytes.h"

namespace assay {

using HttpHeaders = std::vector<std::pair<std::string, std::string>>;  // in their order, names as their writer wrote them

// The value of the first header of this name, in whatever case; empty where there is none.
std::string_view FindHeader(const HttpHeaders& headers, std::string_view name);

// Whether a header may be written so: anything else could end the header, or begin another.
bool IsHeader(std::string_view name, std::string_view value);

struct HttpRequest {
  std::string method;  // "GET", "POST", ...
  std::string target;  // path and query, as the client wrote them; target.h takes it apart
  HttpHeaders headers;
  Bytes body;
  std::string peer;  // "127.0.0.1:40312"

  std::string_view Header(std::string_view name) const { return FindHeader(headers, name); }
};

struct HttpResponse {
  int status = 200;
  std::string content_type = "application/octet-stream";
  Bytes body{};
  int retry_after_s = 0;  // with 429 and 503: when to ask again; 0 where that is left open
  // Sent instead of `body` where it is there: a document that many ask for, held once however many of them read slowly.
  std::shared_ptr<const Bytes> document{};
  // ETag, Location, WWW-Authenticate, ...: those that are not said elsewhere. A server writes Connection, Content-Length, Content-Type,
  // Retry-After and Transfer-Encoding itself; a client finds all of them here.
  HttpHeaders headers{};

  std::string_view Header(std::string_view name) const { return FindHeader(headers, name); }
  ByteSpan bytes() const { return document == nullptr ? ByteSpan(body) : ByteSpan(*document); }
};

// A plain-text answer of one line.
HttpResponse TextResponse(int status, std::string_view text);

// Whether this build has TLS: https:// and certificates give an error otherwise.
bool TlsAvailable();

}  // namespace assay
