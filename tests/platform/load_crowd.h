// Crowd: workers that stream telemetry, viewers that watch, and clients that call meanwhile, all on one thread.
//
// Each worker holds a lease, has one connection for its telemetry and one on which it waits for work, as `assay worker` does. A sample is due every second; one
// that is due while the one before is not answered goes with the next. Each viewer watches one order, and must see every sample of it once, in order. Latencies
// count from the moment when something was due.
#pragma once

#include <chrono>
#include <deque>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "assay/net/event_stream.h"
#include "platform/load_stage.h"
#include "platform/wires.h"

namespace assay::load {

struct Plan {
  int workers = 2000;
  int viewers = 200;
  int replicas = 10;  // workers of one order
  int callers = 20;   // connections for ordinary calls
  int calls_per_s = 50;
  int seconds = 120;
};

struct Latencies {
  std::vector<double> ms{};
  double Quantile(double q);
};

struct Outcome {
  std::int64_t made = 0, accepted = 0;  // samples
  std::int64_t to_see = 0, seen = 0;    // events for all viewers
  std::int64_t out_of_place = 0;        // of them, twice or after a gap
  std::int64_t put_off = 0;             // posts that were answered "later", and sent again
  std::int64_t failed = 0;              // anything else that was not answered as it should
  std::int64_t polls_begun = 0, polls = 0;
  std::string first_failure{};
  Latencies samples{};
  std::map<std::string, Latencies> calls{};
};

class Crowd {
 public:
  Crowd(Stage& stage, const Plan& plan);

  // Registers the workers, gives them leases, and opens the viewers' streams.
  Status Gather();
  // For the time of the plan, and until what is on its way has arrived, or has not for ten seconds.
  void Run();
  Outcome& outcome() { return outcome_; }

 private:
  using Clock = std::chrono::steady_clock;
  struct Worker {
    SigningKey key;
    std::string_view token;
    wires::Wires::Id wire = 0, poll = 0;
    std::string order{};
    std::int64_t lease = 0;
    std::string target{};
    std::int64_t made = 0, accepted = 0;  // numbers of samples
    std::deque<Clock::time_point> due{};  // of those that are not accepted
    Clock::time_point not_before{};
  };
  struct Viewer {
    wires::Wires::Id wire = 0;
    std::string order{};
    EventReader reader{};
    std::map<std::int64_t, std::int64_t> last{};  // sample of each lease
    bool begun = false;
  };
  struct Call {
    std::string name, method, target, body;
  };

  Status MakeOrders();
  void Cast();
  void Enlist(Worker& worker);
  void Ask(Worker& worker, std::function<void()> then);
  void OpenView(Viewer& viewer);
  bool See(Viewer& viewer, const ServerEvent& event);
  void SendSigned(const Worker& worker, wires::Wires::Id wire, std::string_view method, const std::string& target,
                  const std::string& body, wires::Answered answered);
  void Tell(Worker& worker);
  void Poll(Worker& worker, int wait_ms);
  int FirstWaitMs();
  void TellDue(Clock::time_point now);
  void CallDue(Clock::time_point now);
  Call NextCall();
  bool IsDone() const;
  void Fail(std::string_view what, int status, std::string_view body);
  Status TurnUntil(const std::function<bool()>& done, int seconds, std::string_view what);

  Stage& stage_;
  const Plan plan_;
  wires::Wires wires_;
  std::vector<std::string> orders_;
  std::deque<Worker> workers_;
  std::deque<Viewer> viewers_;
  std::vector<wires::Wires::Id> callers_;
  std::string client_token_;
  Clock::time_point begin_{};
  std::size_t next_sample_ = 0, next_call_ = 0;
  std::deque<std::string> to_cancel_;
  bool is_over_ = false;
  std::size_t enlisted_ = 0;
  Outcome outcome_;
};

}  // namespace assay::load
