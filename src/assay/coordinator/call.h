// Call: a request as a route sees it: authenticated, its path and query taken apart, its JSON parsed. Value type.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "assay/coordinator/answer.h"
#include "assay/coordinator/caller.h"
#include "assay/net/http.h"
#include "assay/net/target.h"

namespace assay::coordinator {

struct Call {
  HttpRequest request{};  // with its body, unless that goes to a sink
  Caller caller{};
  Target target{};
  std::map<std::string, std::string, std::less<>> path{};  // what stood for {name} in the route's path
  Json body{};                                             // of a route that takes JSON: an object

  const std::string& Path(std::string_view name) const;  // must be in the route's path
  // A number of the query from `low` to `high`; `absent` where it is not there.
  Outcome<std::int64_t> QueryNumber(std::string_view name, std::int64_t absent, std::int64_t low, std::int64_t high) const;

  // Fields of the body. Each is an error where it is missing or of another kind; the others have what is taken for a missing one.
  Outcome<std::string> Text(const char* key, std::size_t max_bytes) const;
  Outcome<std::string> TextOr(const char* key, std::size_t max_bytes, std::string absent) const;
  Outcome<std::int64_t> Number(const char* key) const;  // from 0 to 2^63 - 1
  Outcome<std::int64_t> NumberOr(const char* key, std::int64_t absent) const;
  Outcome<std::vector<std::string>> Texts(const char* key, std::size_t max_count) const;
};

// A JSON object from outside: bounded in depth, no key twice, well-formed UTF-8. Empty text is an empty object.
Outcome<Json> ParseBody(ByteSpan body);

}  // namespace assay::coordinator
