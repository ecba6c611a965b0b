#include "assay/net/http.h"

#include <algorithm>

namespace assay {
namespace {

char Lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

bool SameName(std::string_view a, std::string_view b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](char x, char y) { return Lower(x) == Lower(y); });
}

}  // namespace

std::string_view FindHeader(const HttpHeaders& headers, std::string_view name) {
  const auto found =
      std::find_if(headers.begin(), headers.end(), [&](const auto& header) { return SameName(header.first, name); });
  return found == headers.end() ? std::string_view() : std::string_view(found->second);
}

bool IsHeader(std::string_view name, std::string_view value) {
  const auto is_name = [](char c) {
    return (c >= '0' && c <= '9') || (Lower(c) >= 'a' && Lower(c) <= 'z') || c == '-' || c == '_';
  };
  const auto is_visible = [](char c) { return c >= ' ' && c <= '~'; };
  return !name.empty() && std::all_of(name.begin(), name.end(), is_name) && std::all_of(value.begin(), value.end(), is_visible);
}

HttpResponse TextResponse(int status, std::string_view text) {
  HttpResponse response{.status = status, .content_type = "text/plain; charset=utf-8", .body = Bytes(text.begin(), text.end())};
  response.body.push_back('\n');
  return response;
}

bool TlsAvailable() {
#ifdef ASSAY_HAVE_TLS
  return true;
#else
  return false;
#endif
}

}  // namespace assay
