#include "assay/cli/progress.h"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <string_view>
#include <vector>

#include "assay/cli/text.h"

namespace assay::cli {
namespace {

constexpr double kBarInterval_s = 0.1;
constexpr double kLineInterval_s = 5;
constexpr double kSmoothing = 0.1;  // weight of the latest step's time
constexpr std::size_t kBarCells = 24;

}  // namespace

std::size_t TerminalWidth(std::FILE* stream) {
  winsize size{};
  if (::ioctl(::fileno(stream), TIOCGWINSZ, &size) != 0 || size.ws_col == 0) return 80;
  return size.ws_col;
}

ProgressMode ProgressModeFor(std::FILE* stream, bool quiet) {
  if (quiet) return ProgressMode::kQuiet;
  const char* terminal = std::getenv("TERM");
  const bool redraws = ::isatty(::fileno(stream)) != 0 && terminal != nullptr && std::string_view(terminal) != "dumb";
  return redraws ? ProgressMode::kBar : ProgressMode::kLines;
}

void Progress::Start(std::int64_t first_step, double now_s) {
  last_.step = first_step;
  last_step_s_ = now_s;
  shown_s_ = now_s;
  if (first_step > 0 && first_step < steps_) Note(fmt::format("resuming after step {} of {}", first_step, steps_));
}

void Progress::Step(const StepReport& report, double now_s) {
  const double seconds = now_s - last_step_s_;
  seconds_per_step_ = seconds_per_step_ == 0 ? seconds : seconds_per_step_ + kSmoothing * (seconds - seconds_per_step_);
  last_step_s_ = now_s;
  last_ = report;
  const double interval = mode_ == ProgressMode::kBar ? kBarInterval_s : kLineInterval_s;
  if (now_s - shown_s_ < interval && report.step != steps_) return;
  shown_s_ = now_s;
  Draw();
}

void Progress::Evaluation(std::int64_t step, float loss) {
  validation_ = loss;
  if (mode_ == ProgressMode::kLines) {
    fmt::print(stream_, "step {}/{}  validation loss {:.4f}\n", step, steps_, loss);
  } else if (mode_ == ProgressMode::kBar) {
    Draw();
  }
}

void Progress::Note(const std::string& text) {
  EraseBar();
  fmt::print(stream_, "assay: {}\n", text);
}

void Progress::Finish() {
  if (bar_drawn_) fmt::print(stream_, "\n");
  bar_drawn_ = false;
}

std::string Progress::Line(std::size_t width) const {
  // What is kept longest has the lowest rank.
  struct Part {
    int rank;
    std::string text;
  };
  // Rounded down: 100% is all of it.
  const std::int64_t percent = steps_ > 0 ? 100 * last_.step / steps_ : 100;
  std::vector<Part> parts = {{1, fmt::format("step {}/{} {:3}%", last_.step, steps_, percent)},
                             {2, fmt::format("loss {:.4f}", last_.loss)}};
  if (validation_) parts.push_back({3, fmt::format("val {:.4f}", *validation_)});
  parts.push_back({4, fmt::format("lr {:.3g}", last_.lr)});
  if (seconds_per_step_ > 0) {
    parts.push_back({5, fmt::format("{} {}/s", Count(throughput_.per_step / seconds_per_step_), throughput_.unit)});
    parts.push_back({0, fmt::format("ETA {}", Duration(static_cast<double>(steps_ - last_.step) * seconds_per_step_))});
  }
  std::string text;
  // A number that is cut in half is another number, so that whole parts go.
  while (!parts.empty()) {
    text.clear();
    for (const Part& part : parts) text += (text.empty() ? "" : "  ") + part.text;
    if (text.size() <= width) return text;
    parts.erase(std::ranges::max_element(parts, {}, &Part::rank));
  }
  return "";
}

void Progress::Draw() {
  if (mode_ == ProgressMode::kQuiet) return;
  if (mode_ == ProgressMode::kLines) {
    fmt::print(stream_, "{}\n", Line(std::string::npos));
    return;
  }
  const std::size_t width = TerminalWidth(stream_) - 1;
  std::string text = Line(width);
  if (text.size() + kBarCells + 3 <= width) {
    const double share = steps_ > 0 ? static_cast<double>(last_.step) / static_cast<double>(steps_) : 1;
    const auto full = std::min(kBarCells, static_cast<std::size_t>(share * static_cast<double>(kBarCells)));
    text = fmt::format("[{:-<{}}] {}", std::string(full, '#'), kBarCells, text);
  }
  fmt::print(stream_, "\r{}\x1b[K", text);
  std::fflush(stream_);
  bar_drawn_ = true;
}

void Progress::EraseBar() {
  if (bar_drawn_) fmt::print(stream_, "\r\x1b[K");
  bar_drawn_ = false;
}

}  // namespace assay::cli
