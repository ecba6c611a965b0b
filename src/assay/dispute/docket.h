// Docket: which disputes a provider takes part in, who may ask in them, and how much each may still ask for. It is told of openings, questions and costs
// and says what is allowed; it computes nothing itself, so that simulations use it as the server does.
//
// A dispute is opened by showing a receipt for the provider's job that contradicts its own: without that there is nothing to ask about. Anybody can make
// such a receipt, so that alone protects nothing: a provider that names its referees (`pinned`) answers nobody else. Every dispute has a budget of its
// own, which covers all that an honest provider can have to do in it and is set aside when it is opened: whoever was let in is never turned away for what
// others asked. Referees that are not pinned get no more than `open_to_all` together, for as long as the docket lives; where less is left than a dispute
// may take it is not opened.
//
// A denial is never signed and means nothing about the run. What is denied here stays denied: no budget comes back. Not synchronised.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "assay/dispute/account.h"
#include "assay/dispute/bounded_cache.h"
#include "assay/dispute/opening.h"

namespace assay::dispute {

// What answering may cost: work, and bytes of answers about more than the log.
struct Budget {
  Work work{};
  std::uint64_t bytes = 0;
  bool Holds(const Budget& cost) const;  // it is no more than this, of any kind
};
Budget Times(std::int64_t n, const Budget& budget);
Budget operator+(const Budget& a, const Budget& b);
Budget Less(const Budget& from, const Budget& spent);  // what is left, and nothing where too much was spent

enum class Denial : std::uint8_t {
  kNotOpen,  // this dispute is not known here: open it (again)
  kForbidden,  // this referee may not ask, or the opening shows nothing that contradicts our receipt, or there is no budget for it
  kSpent,      // the dispute has used up its budget; what was answered in it may be answered again
};
struct Denied {
  Denial denial{};
  std::string why;
};

class Docket {
 public:
  struct Options {
    std::vector<KeyPoint> pinned{};  // empty: whoever opens a dispute may ask in it
    Budget bout{};                   // what one bout takes at most
    Budget
        open_to_all{};  // what all referees that are not pinned get together, less than a question's cost more for each dispute
    // That are remembered of each pinned referee, the least recently used going first, and of all others together: these stay open, and no more are opened.
    std::size_t max_disputes = 256;
  };
  // What the provider stands for, as functions so that tests can have their own.
  struct Own {
    Digest job{};
    Digest receipt{};  // the hash of its file
    std::function<Status(const std::string& receipt)>
        contradicts;  // whether this receipt is of the same job and says something else
    std::function<bool(ByteSpan opening, const Signature&, const KeyPoint&)> is_opened = IsOpenedBy;
    std::function<bool(ByteSpan question, const Digest& receipt, const Signature&, const KeyPoint&)> is_asked = IsAskedBy;
  };

  Docket(Own own, Options options);

  struct Opened {
    Digest id{};  // the dispute's
    bool pinned = false;
    bool again = false;  // it was open
  };
  tl::expected<Opened, Denied> Open(const SignedOpening& opening);

  // Whether this question may be answered, and whether its referee is pinned. `free`: costs nothing and shows nothing but the log.
  tl::expected<bool, Denied> Admit(const Digest& dispute, ByteSpan question, const Signature& signature, bool free);
  void Charge(const Digest& dispute, const Budget& cost);

  // What a dispute of so many parties may cost, in bouts. Each bout strikes a party or ends a match without doing so, so that there are at most twice as many as other
  // parties. One more is set aside: a question is answered as long as no more than those are spent, and costs at most a bout. What is charged for is what the dispute's own
  // questions take, however often it has to be done again because others ask in between.
  static std::int64_t BoutsOf(std::size_t parties);
  Budget BudgetOf(std::size_t parties) const { return Times(BoutsOf(parties), options_.bout); }
  std::int64_t BoutsLeft() const;                               // for referees that are not pinned: neither spent nor set aside
  const Budget& spent_by_all() const { return spent_by_all_; }  // of open_to_all

 private:
  struct Dispute {
    KeyPoint referee{};
    bool pinned = false;
    Budget budget{}, spent{};
  };
  using Disputes = BoundedCache<Digest, Dispute>;  // a dispute counts as one byte
  Dispute* Find(const Digest& dispute);
  Budget Left() const;  // of open_to_all

  Own own_;
  Options options_;
  std::map<KeyPoint, Disputes> pinned_;
  Disputes others_;
  Budget spent_by_all_{};
};

}  // namespace assay::dispute
