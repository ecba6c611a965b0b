// What a question or a finding is about: the log, a step, an entry of the log. The referee, the judge and the law all read it here. Pure functions.
#pragma once

#include <cstdint>
#include <optional>

#include "assay/dispute/examine.h"
#include "assay/dispute/game_record.h"
#include "assay/dispute/question.h"
#include "assay/dispute/terms.h"

namespace assay::dispute {

// Whether only who signed for a log can be asked this: it is about the log itself or about what else its receipt alone binds.
bool IsAboutReceipt(const Question& question);

// Whether the cause was found in the receipt and what it alone binds. Guests, who share two entries of a log and not its receipt, do not answer for it.
bool IsAboutReceipt(Cause cause);

// What becomes of a party of this side that stands by all that was held against it. The finding strikes the side. `follows`: every receipt of this dispute in
// which its key promises this says that it follows somebody; one that does not claims the log as its own work, whichever of them was handed in first.
Standing StruckAs(const Finding& finding, Party side, bool follows);

// The step that a question lies in; none for questions about a receipt or about all steps of an entry.
std::optional<std::int64_t> StepAbout(const Question& question);

// The entry of the log inside which a question lies: that covers its step. None for questions about a receipt.
std::optional<std::int64_t> EntryAbout(const Terms& terms, const Question& question);

}  // namespace assay::dispute
