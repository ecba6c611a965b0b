// What `hostile_peer` does to providers and referees, mode by mode. Every function runs until it is done or the process is ended.
#pragma once

#include <map>
#include <string>

#include "assay/base/result.h"

namespace assay::hostile {

// Connections that are held and do nothing useful, each opened again when it is closed.
struct HoldOptions {
  std::string url;               // of a provider at an IPv4 address
  std::string words = "silent";  // what each does: see kHoldWords
  int count = 200;
  int hosts = 1;  // local addresses they come from, 127.0.0.2 and those after it
  double seconds = 60;
};
inline constexpr const char* kHoldWords =
    "silent: nothing; header, body: a byte of a request every 100 ms; asked: silent after one answer; unread: asks for the "
    "program and "
    "does not read it";
// Says "holding N" once they are open, and how often they were opened at the end.
Status Hold(const HoldOptions& options);

// A file posted as it is; says the status. The body of the answer goes to `out` where that is named.
struct PostOptions {
  std::string url, path, file, out;
  double seconds = 60;
};
Status Post(const PostOptions& options);

// Stands before a provider as an HTTP server of its own; says "listening on URL".
struct ProxyOptions {
  std::string url;  // of the provider
  std::string listen = "127.0.0.1:0";
  int busy = 0;                                // answers 503 to so many requests,
  double busy_seconds = 0;                     // and for so long from its start
  int retry_after_s = 0;                       // which these answers ask for
  int delay_ms = 0;                            // before each request is passed on
  std::string only;                            // the path that `busy` and `delay_ms` are about; empty: all
  std::map<std::string, std::string> instead;  // files that are answered with, by path, whatever the provider would say
  std::string withhold;                        // paths that begin so are answered by 404,
  std::string alter;                           // and these with a bit changed in the middle
  std::string record;                          // folder for what is posted and answered: 0000.question, 0000.answer, ...
};
Status Proxy(const ProxyOptions& options);

// Stands before a provider as a relay of bytes that resets the first connections once they have said something; says "listening on URL".
struct RelayOptions {
  std::string url;
  int drop = 5;
  double drop_seconds = 0;  // every connection for so long from its start
};
Status Relay(const RelayOptions& options);

}  // namespace assay::hostile
