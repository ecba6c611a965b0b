// What an HTTP request and its answer are to the rest of the program: small messages, held in memory as a whole.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "assay/base/bytes.h"

namespace assay {

struct HttpRequest {
  std::string method;                                        // "GET", "POST", ...
  std::string target;                                        // path and query, as the client wrote them
  std::vector<std::pair<std::string, std::string>> headers;  // in their order, names as the client wrote them
  Bytes body;
  std::string peer;  // "127.0.0.1:40312"

  // The value of the first header of this name, in whatever case; empty where there is none.
  std::string_view Header(std::string_view name) const;
};

struct HttpResponse {
  int status = 200;
  std::string content_type = "application/octet-stream";
  Bytes body{};
  int retry_after_s = 0;  // with 429 and 503: when to ask again; 0 where that is left open
  // Sent instead of `body` where it is there: a document that many ask for, held once however many of them read slowly.
  std::shared_ptr<const Bytes> document{};

  ByteSpan bytes() const { return document == nullptr ? ByteSpan(body) : ByteSpan(*document); }
};

// A plain-text answer of one line.
HttpResponse TextResponse(int status, std::string_view text);

// Whether this build has TLS: https:// and certificates give an error otherwise.
bool TlsAvailable();

}  // namespace assay
