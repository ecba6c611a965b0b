// How an order is doing, for people: a line for each thing that happens, and while workers train, how far they are and how long it may take. On a terminal the
// latter redraws itself; elsewhere it is a line every few seconds. And how it ended, for people and for programs.
//
// Time is passed in, so that what is shown is a function of the calls alone. Not synchronised.
#pragma once

#include <cstdint>
#include <cstdio>
#include <map>
#include <string>
#include <vector>

#include "assay/cli/json.h"
#include "assay/cli/progress.h"
#include "assay/client/checked_life.h"
#include "assay/life/life.h"

namespace assay::cli {

class OrderView {
 public:
  OrderView(std::FILE* stream, ProgressMode mode) : stream_(stream), mode_(mode) {}
  ~OrderView() { Finish(); }
  OrderView(const OrderView&) = delete;
  OrderView& operator=(const OrderView&) = delete;

  void Entry(const life::Entry& entry, const life::Life& life, double now_s);
  // As workers send them (docs/formats/platform.md); anything may be in it.
  void Sample(const OrderedJson& sample, double now_s);
  // Of an upload or a download.
  void Transfer(const std::string& what, std::uint64_t done, std::uint64_t total, double now_s);
  void Note(const std::string& text);
  // Time has passed: says what the order waits for, if it has waited for a while, and draws anew how far workers are, or says which have fallen silent.
  void Tick(double now_s);
  void Finish();

  // "lease 1 train 120/5000 2% loss 2.3121 ETA 2m10s  lease 2 …"; empty where nobody works. Of a worker that has not been heard of for a while, since when,
  // instead of a time that nothing is known about.
  std::string Line(double now_s) const;

 private:
  struct Work {
    std::string phase;
    std::int64_t step = 0, steps = 0;
    double loss = 0;
    bool has_loss = false;
    double heard_s = 0;           // when the last sample came
    bool silence_said = false;    // since then
    double since_s = 0;           // when `step` was first seen
    double seconds_per_step = 0;  // smoothed; 0 until there were two samples
  };
  void Say(const std::string& line);
  // `share` of the whole, from 0 to 1.
  void Draw(const std::string& line, double share, double now_s);
  double Share() const;
  void Erase();

  std::FILE* stream_;
  ProgressMode mode_;
  std::map<std::int64_t, Work> works_;   // by lease, of those that are open
  std::vector<std::string> given_back_;  // why each lease was that ended so
  std::string waits_for_;                // what nobody has taken up yet; empty: nothing
  double waits_since_s_ = 0;
  bool waiting_said_ = false;
  double shown_s_ = 0;
  bool drawn_ = false;
};

// What an order waits for that no worker has taken up; empty: nothing, as far as its life tells.
std::string WaitsFor(const life::Life& life);

// What an entry says, in a line.
std::string Sentence(const life::Entry& entry, const life::Life& life);

// 0: verified, refereed; 1: withheld, failed; 3: undecided, or not decided.
int ExitStatusOf(const life::Life& life);

OrderedJson OutcomeJson(const life::Life& life);
std::string OutcomeText(const life::Life& life);

}  // namespace assay::cli
