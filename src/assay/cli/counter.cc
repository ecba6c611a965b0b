#include "assay/cli/counter.h"

#include <fmt/format.h>

#include <utility>

namespace assay::cli {

Counter::Counter(std::FILE* stream, bool shown, std::string what, std::int64_t total)
    : stream_(stream), shown_(shown), what_(std::move(what)), total_(total) {
  Draw();
}

Counter::~Counter() {
  if (!shown_) return;
  fmt::print(stream_, "\r\x1b[K");
  std::fflush(stream_);
}

void Counter::Tick() {
  ++done_;
  Draw();
}

void Counter::Draw() const {
  if (!shown_) return;
  fmt::print(stream_, "\r{} {}/{}\x1b[K", what_, done_, total_);
  std::fflush(stream_);
}

}  // namespace assay::cli
