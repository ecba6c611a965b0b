// Witness: answers questions about the runs that a worker has delivered, for as long as their orders are not decided, beside whatever else it does.
//
// It has a thread, a link and kernels of its own. A run is opened when it is asked about for the first time; the last few stay open. Whoever may ask is fixed by
// the order: its coordinator or, where it is sealed, its client, who alone can read the answers. Thread safe.
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <string>
#include <thread>

#include "assay/dispute/answerer.h"
#include "assay/worker/halt.h"
#include "assay/worker/lease_work.h"

namespace assay::worker {

class Witness {
 public:
  // `answered`: is told, from the witness's thread, of every question that is done with. All must outlive it.
  Witness(const Site& site, Link& link, std::size_t memory, std::function<void(const std::string& question)> answered);
  ~Witness();
  Witness(const Witness&) = delete;
  Witness& operator=(const Witness&) = delete;

  void Ask(Question question);
  // The files of the order are about to go.
  void Forget(const std::string& order);

 private:
  struct Stand;  // a run that is answered for
  using Answer = tl::expected<Bytes, NoAnswer>;

  void Loop();
  Answer AnswerTo(const Question& question);
  Result<std::shared_ptr<Stand>> Find(const std::string& order);
  Result<std::shared_ptr<Stand>> Open(const std::string& order) const;

  const Site& site_;
  Link& link_;
  const std::size_t memory_;
  const std::function<void(const std::string&)> answered_;
  Halt halt_;
  std::mutex mutex_;  // of the questions
  std::condition_variable changed_;
  std::deque<Question> questions_;
  std::mutex stands_mutex_;
  std::list<std::pair<std::string, std::shared_ptr<Stand>>> stands_;  // the latest first
  std::thread thread_;
};

}  // namespace assay::worker
