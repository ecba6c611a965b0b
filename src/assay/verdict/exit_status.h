// How every command ends, and what the judge of a browser answers: one table for all of them (docs/EXIT_STATUS.md).
#pragma once

namespace assay {

inline constexpr int kExitOk = 0;       // verified, decided, agreed, whole, valid, done; the evidence convicts whom it names
inline constexpr int kExitRefuted = 1;  // refuted, not valid, nobody stands; the evidence convicts nobody
inline constexpr int kExitBadInput =
    2;  // usage, a file that is not what was asked for, a file given as evidence that is not evidence
inline constexpr int kExitUndecided = 3;  // undecided or unchecked: neither for nor against anybody
inline constexpr int kExitDamaged = 4;    // a copy that is torn or altered, which says nothing against who signed it

}  // namespace assay
