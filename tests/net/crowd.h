// Many honest clients on one thread: workers that send a small request a second each and keep their connections, and viewers that count
// events. Written on bare sockets, so that what is measured is the server.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "assay/base/result.h"

namespace assay::load {

struct Plan {
  std::uint16_t port = 0;
  int workers = 0;  // each sends "POST /sample" with its number as X-Worker
  int viewers = 0;  // each asks for "GET /view?V", and counts kMark
  int seconds = 0;
};

constexpr char kMark = '@';               // stands for one event
constexpr std::string_view kDone = "ok";  // the body of an answer to a worker

struct Outcome {
  std::vector<double> latencies_ms;  // from when a request was due, sorted
  std::size_t late = 0;              // requests that were due before the answer to the one before was there
  std::size_t failed = 0;            // answers other than 200, and connections that were lost
  std::size_t events = 0;            // that viewers saw

  double Quantile(double q) const;
};

// Connects everybody first; the time is counted from then on.
Result<Outcome> Run(const Plan& plan);

// A connection to 127.0.0.1.
Result<int> Connect(std::uint16_t port);

}  // namespace assay::load
