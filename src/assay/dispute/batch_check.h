// BatchCheck: whether a batch that is loaded again for an answer is the one that the run commits to.
//
// Data that is mapped may change at any time after its root was checked. Whoever signed what follows from other data would contradict its own log, so that nothing
// that was loaded is answered from before it was compared here. The batch roots of one entry are looked at together, since the log signs only the root over them;
// those of the entry that was asked about last are kept.
//
// A log that is false is not the data's fault: where the log says otherwise and the data is whole, what the data gives is right, and its signer has to answer for
// the log. The arguments must outlive it. Not synchronised.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "assay/base/thread_pool.h"
#include "assay/run/log.h"
#include "assay/train/prepare.h"

namespace assay::dispute {

// An error that is this machine's: the data has gone bad, and what was asked may be answered once it is good again.
Error OtherData(const PreparedJob& prepared, std::string_view what);

class BatchCheck {
 public:
  // The root of the batch of a step, counted from 1, from the data as it is.
  using RootOf = std::function<Digest(std::int64_t step)>;
  BatchCheck(const PreparedJob& prepared, const RunLog& log, ThreadPool& pool, RootOf root_of);

  // The root of the step's batch; an error: the data is not what the run was trained on.
  Result<Digest> Root(std::int64_t step);
  // Whether `loaded` is that root.
  Status Check(std::int64_t step, const Digest& loaded);

 private:
  struct Entry {
    std::int64_t number = 0, from = 0;  // the steps done before its first
    std::vector<Digest> roots;
  };
  Result<Entry> Look(std::int64_t number) const;

  const PreparedJob& prepared_;
  const RunLog& log_;
  ThreadPool& pool_;
  RootOf root_of_;
  std::optional<Entry> kept_;
};

}  // namespace assay::dispute
