// ShownRun: what a provider of a rounded run shows to whoever wants to follow it (docs/formats/dispute.md, "Over HTTP"): the log, and the rounding logs of its
// steps, in parts that are small whatever the job. Roots and rounding decisions tell nobody weights or data, so that anybody may ask.
//
// Logs stay on disk; what is kept in memory is a leaf for each step that was asked about. Thread safe.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "assay/net/http.h"
#include "assay/run/log.h"
#include "assay/run/rounding_shelf.h"

namespace assay::service {

// Paths and sizes, for both sides.
struct ShownPaths {
  static constexpr std::uint64_t kEntries = 256;                       // of the log in a part of it
  static constexpr std::uint64_t kLeaves = 16384;                      // of an entry's tree of roundings
  static constexpr std::uint64_t kPartBytes = std::uint64_t{1} << 20;  // of a rounding log
  static std::string Log(std::uint64_t part);
  static std::string Leaves(std::int64_t entry, std::uint64_t part);
  static std::string RoundingLog(std::int64_t step, std::uint64_t part);
};

class ShownRun {
 public:
  // The log must outlive it.
  static Result<std::unique_ptr<ShownRun>> Open(const std::string& rounding_path, const RunLog& log);

  // None where the request is about something else.
  std::optional<HttpResponse> Respond(const HttpRequest& request);

 private:
  ShownRun(RoundingShelf shelf, const RunLog& log) : shelf_(std::move(shelf)), log_(log) {}
  HttpResponse LogPart(std::uint64_t part) const;
  HttpResponse LeavesPart(std::uint64_t entry, std::uint64_t part);
  Result<RoundingLeaf> Leaf(std::int64_t step);
  HttpResponse RoundingPart(std::uint64_t step, std::uint64_t part) const;

  RoundingShelf shelf_;
  const RunLog& log_;
  std::mutex mutex_;                               // of what follows
  std::map<std::int64_t, RoundingLeaf> leaves_{};  // by step
};

}  // namespace assay::service
