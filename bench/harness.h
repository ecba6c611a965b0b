// What the benchmarks share: timing contenders against each other, one line per case, and the JSON that `make bench` collects.
//
// Contenders take turns (A, B, A, B, ...) and each keeps its best time, so that a disturbance from outside hits all of them alike.
// With one thread the time is that thread's CPU time, which other programs on the machine disturb less.
#pragma once

#include <fmt/format.h>
#include <time.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <functional>
#include <limits>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

namespace assay::bench {

struct Options {
  std::vector<int> threads = {1, 2};
  std::string json;       // where to write the results; empty: nowhere
  std::string filter;     // only cases whose name contains this
  double seconds = 0.25;  // per case and contender, at least
};

// Understands --threads N, --json PATH, --filter TEXT, --seconds S; anything else ends the program with status 2.
inline Options ParseOptions(int argc, char** argv) {
  Options options;
  for (int i = 1; i < argc; ++i) {
    const std::string_view flag = argv[i];
    const char* value = i + 1 < argc ? argv[++i] : nullptr;
    if (value != nullptr && flag == "--threads") {
      options.threads = {std::atoi(value)};
    } else if (value != nullptr && flag == "--json") {
      options.json = value;
    } else if (value != nullptr && flag == "--filter") {
      options.filter = value;
    } else if (value != nullptr && flag == "--seconds") {
      options.seconds = std::atof(value);
    } else {
      fmt::print(stderr, "{}: expected --threads N, --json PATH, --filter TEXT or --seconds S, got {}\n", argv[0], flag);
      std::exit(2);
    }
  }
  return options;
}

// Best seconds of each contender: turns until every one has had `seconds`, and at least 3. A turn begins with a run that is not timed.
// Where there are several threads it begins with a pause, because another library's idle threads spin for a while and would take a
// core from the next contender.
inline std::vector<double> Race(const std::vector<std::function<void()>>& contenders, int threads, double seconds) {
  const auto now = [&] {
    timespec time;
    clock_gettime(threads == 1 ? CLOCK_THREAD_CPUTIME_ID : CLOCK_MONOTONIC, &time);
    return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
  };
  constexpr double kTurn = 0.02;
  std::vector<double> best(contenders.size(), std::numeric_limits<double>::infinity());
  std::vector<double> spent(contenders.size(), 0.0);
  for (int turn = 0; turn < 3 || *std::min_element(spent.begin(), spent.end()) < seconds; ++turn) {
    for (std::size_t i = 0; i < contenders.size(); ++i) {
      if (threads > 1) std::this_thread::sleep_for(std::chrono::milliseconds(100));
      contenders[i]();
      for (double turn_left = kTurn; turn_left > 0;) {
        const double start = now();
        contenders[i]();
        const double elapsed = now() - start;
        best[i] = std::min(best[i], elapsed);
        spent[i] += elapsed;
        turn_left -= elapsed;
      }
    }
  }
  return best;
}

struct Line {
  std::string name;
  std::string peer;
  int threads = 1;
  double ours = 0;  // speeds in one unit, more is better
  double theirs = 0;
  double target = 0;  // least acceptable ratio
  double ratio() const { return ours / theirs; }
};

class Report {
 public:
  void Add(Line line) {
    fmt::print("{:<44} {} thread{} {:>8.1f} ours {:>8.1f} {:<9} ratio {:.3f}{}\n", line.name, line.threads,
               line.threads == 1 ? " " : "s", line.ours, line.theirs, line.peer, line.ratio(),
               line.ratio() < line.target ? "  BELOW TARGET" : "");
    std::fflush(stdout);
    lines_.push_back(std::move(line));
  }

  // Adds the geometric mean of all lines so far with this number of threads as a case of its own.
  void AddMean(const std::string& name, int threads, double target) {
    double ours = 0, theirs = 0;
    int count = 0;
    for (const Line& line : lines_) {
      if (line.threads != threads) continue;
      ours += std::log(line.ours);
      theirs += std::log(line.theirs);
      ++count;
    }
    if (count == 0) return;
    Add({name, "best", threads, std::exp(ours / count), std::exp(theirs / count), target});
  }

  // Writes the array to `path`, or nothing if it is empty. False if the file could not be written.
  bool WriteJson(const std::string& path) const {
    if (path.empty()) return true;
    std::FILE* file = std::fopen(path.c_str(), "w");
    if (file == nullptr) return false;
    fmt::print(file, "[");
    for (std::size_t i = 0; i < lines_.size(); ++i) {
      const Line& line = lines_[i];
      fmt::print(
          file,
          R"({}{{"name": "{}", "peer": "{}", "threads": {}, "ours": {:.6g}, "theirs": {:.6g}, "ratio": {:.4f}, "target": {}}})",
          i == 0 ? "\n  " : ",\n  ", line.name, line.peer, line.threads, line.ours, line.theirs, line.ratio(), line.target);
    }
    fmt::print(file, "\n]\n");
    return std::fclose(file) == 0;
  }

 private:
  std::vector<Line> lines_;
};

}  // namespace assay::bench
