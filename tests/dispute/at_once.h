// A game in which messages are delivered at once and in order, and time goes on only when nobody has anything to say. Pure but for the speakers.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "assay/dispute/referee.h"

namespace assay::dispute {

// The messages that a provider sends when it is asked; none: silence.
using Says = std::function<std::vector<Bytes>(ByteSpan asked, const Question& question)>;

Record PlayAtOnce(std::shared_ptr<const Law> law, std::vector<Claim> claims, const std::vector<Says>& says);

}  // namespace assay::dispute
