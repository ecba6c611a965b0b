#include "assay/cli/byte_progress.h"

#include <fmt/format.h>

#include <algorithm>

#include "assay/cli/text.h"

namespace assay::cli {
namespace {

constexpr double kBarInterval_s = 0.1;
constexpr double kLineInterval_s = 5;
constexpr std::size_t kBarCells = 24;

double Share(std::uint64_t done, std::uint64_t all) {
  return all == 0 ? 1 : std::min(1.0, static_cast<double>(done) / static_cast<double>(all));
}

}  // namespace

void ByteProgress::Update(std::uint64_t done, std::uint64_t all, double now_s) {
  done_ = done;
  all_ = all;
  now_s_ = now_s;
  if (!started_) {
    started_ = true;
    first_ = done;
    first_s_ = shown_s_ = now_s;
    if (done > 0 && mode_ != ProgressMode::kQuiet) {
      fmt::print(stream_, "assay: going on after {} of {}\n", ByteCount(static_cast<double>(done)),
                 ByteCount(static_cast<double>(all)));
    }
    return;
  }
  if (now_s - shown_s_ < (mode_ == ProgressMode::kBar ? kBarInterval_s : kLineInterval_s)) return;
  shown_s_ = now_s;
  Draw();
}

void ByteProgress::Finish() {
  if (bar_drawn_) fmt::print(stream_, "\r\x1b[K");
  bar_drawn_ = false;
}

std::string ByteProgress::Line() const {
  std::string text = fmt::format("{} {} of {} {:3}%", verb_, ByteCount(static_cast<double>(done_)),
                                 ByteCount(static_cast<double>(all_)), static_cast<int>(100 * Share(done_, all_)));
  const double seconds = now_s_ - first_s_, bytes = static_cast<double>(done_ - first_);
  if (seconds <= 0 || bytes <= 0) return text;
  text += fmt::format("  {:.1f} MB/s  ETA {}", bytes / seconds / 1e6,
                      Duration(static_cast<double>(all_ - std::min(done_, all_)) * seconds / bytes));
  return text;
}

void ByteProgress::Draw() {
  if (mode_ == ProgressMode::kQuiet) return;
  if (mode_ == ProgressMode::kLines) {
    fmt::print(stream_, "{}\n", Line());
    return;
  }
  const std::size_t width = TerminalWidth(stream_) - 1;
  std::string text = Line();
  if (text.size() + kBarCells + 3 <= width) {
    const auto full = static_cast<std::size_t>(Share(done_, all_) * static_cast<double>(kBarCells));
    text = fmt::format("[{:-<{}}] {}", std::string(full, '#'), kBarCells, text);
  }
  fmt::print(stream_, "\r{}\x1b[K", text.substr(0, width));
  std::fflush(stream_);
  bar_drawn_ = true;
}

}  // namespace assay::cli
