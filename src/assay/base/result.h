// Result<T>: a value, or an Error whose message names the thing at fault and what was expected of it.
//
// Everything that depends on a user, a file, a peer or a device returns Result; nothing in Assay throws. Messages are one
// line, without a final stop, and read well after "assay: ".
#pragma once

#include <fmt/format.h>

#include <string>
#include <utility>

#include <tl/expected.hpp>

namespace assay {

struct Error {
  std::string message;
  bool system = false;  // this machine failed (a disk error, no permission), whatever the thing at fault holds
  // Whether it was done cannot be told, since the answer got lost on its way: repeat it, if doing it twice does no harm.
  bool unknown_outcome = false;
  bool broken = false;  // the program itself is at fault, not who asked: a database refuses a statement of ours

  // Whether the request as such may have been right.
  bool not_the_askers() const { return system || unknown_outcome || broken; }
};

template <class T>
using Result = tl::expected<T, Error>;
using Status = Result<void>;

// Err("{}: expected {} bytes, got {}", path, want, got)
template <class... Args>
tl::unexpected<Error> Err(fmt::format_string<Args...> format, Args&&... args) {
  return tl::unexpected<Error>(Error{fmt::format(format, std::forward<Args>(args)...)});
}

}  // namespace assay

#define ASSAY_CONCAT_INNER(a, b) a##b
#define ASSAY_CONCAT(a, b) ASSAY_CONCAT_INNER(a, b)

// ASSAY_TRY(expression): leaves the function with the error if the Status is one.
#define ASSAY_TRY(expression)                                                  \
  do {                                                                         \
    auto assay_status = (expression);                                          \
    if (!assay_status) return tl::unexpected(std::move(assay_status).error()); \
  } while (false)

// ASSAY_ASSIGN(auto x, expression): x becomes the value, or the function returns the error.
#define ASSAY_ASSIGN(target, expression) ASSAY_ASSIGN_INNER(ASSAY_CONCAT(assay_result_, __LINE__), target, expression)
#define ASSAY_ASSIGN_INNER(name, target, expression)         \
  auto name = (expression);                                  \
  if (!name) return tl::unexpected(std::move(name).error()); \
  target = std::move(name).value()
