// Fees: what each dispute is charged for what it asks of a provider: the work that its own questions take if nobody else asks (meter.h), and the bytes of the answers, each of which
// counts for a least number. Questions that fail are charged in the same way as if they had been answered with nothing: otherwise they could be asked without end, or, where a machine fails, a
// dispute would pay again and again for what it asked for once. Not synchronised.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>

#include "assay/dispute/bounded_cache.h"
#include "assay/dispute/docket.h"
#include "assay/dispute/meter.h"

namespace assay::dispute {

// What the answers of one bout come to at most, each counted as below.
inline constexpr std::uint64_t kBoutBytes = std::uint64_t{4} << 20;

class Fees {
 public:
  // What an answer counts for at least. It limits how many there are, and so how often something can have to be made again.
  static constexpr std::size_t kLeastBytes = 4096;

  // `new_meter`: for a dispute that begins; none where what is asked is charged for as it was measured.
  explicit Fees(std::function<std::optional<Meter>()> new_meter) : new_meter_(std::move(new_meter)) {}

  // For a question, whatever it names, that was answered with so many bytes or failed. `measured`: what was done for it.
  Budget For(const Digest& dispute, const Question& question, std::size_t bytes, const Work& measured);

 private:
  std::function<std::optional<Meter>()> new_meter_;
  BoundedCache<Digest, std::shared_ptr<Meter>> meters_{kMaxMeters};  // by dispute; each counts as one byte
  static constexpr std::size_t kMaxMeters = 4096;
};

}  // namespace assay::dispute
