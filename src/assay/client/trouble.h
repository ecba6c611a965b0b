// Trouble: why a client could not do what it was asked. It tells what somebody has lied about, or cannot show, from everything else that can go wrong: the first is a
// result, for which a command has an exit status of its own. Value type.
#pragma once

#include <utility>

#include "assay/base/result.h"

namespace assay::client {

struct Trouble : Error {
  Trouble() = default;
  Trouble(Error error) : Error(std::move(error)) {}  // NOLINT(google-explicit-constructor): any failure is one
  bool later = false;                                // nobody has answered, or nobody could: the same may go well another time
  bool stranger = false;                             // it is not known here who should have signed the order
  bool unwitnessed = false;                          // refused for nothing but a witness's signature that is missing
  // Refused because a file of a folder is not the one that its signed parts commit to: a bad copy, which says nothing against anybody.
  bool bad_copy = false;
  bool refused = false;  // what the coordinator says contradicts itself, what it said before, or what it has to show
};

template <class T>
using Checked = tl::expected<T, Trouble>;

// Refused("{}: signs another life than before", server)
template <class... Args>
tl::unexpected<Trouble> Refused(fmt::format_string<Args...> format, Args&&... args) {
  Trouble trouble(Error{fmt::format(format, std::forward<Args>(args)...)});
  trouble.refused = true;
  return tl::unexpected<Trouble>(std::move(trouble));
}

}  // namespace assay::client
