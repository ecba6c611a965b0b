// How large answers are, as it follows from the job: the bytes of every leaf, and so the most bytes that a true answer to a question has. A true answer to a question that the
// law asks is never longer than kMaxBodyBytes, because jobs of which it could be are refused (assay/job/limits.h). Pure; thread safe.
#pragma once

#include <cstddef>
#include <cstdint>

#include "assay/dispute/question.h"
#include "assay/dispute/terms.h"

namespace assay::dispute {

// What leaf `leaf` of the tree has: exactly, since everything in it but hashes and values is the job's. 0 for trees and leaves that the job does not have.
std::size_t LeafBytes(const Terms& terms, const TreeName& tree, std::uint64_t leaf);

// What a reader allows for one of the leaves asked for. Never less than 4 KiB: a false record that is a little longer than the true one is read, so that it can be said what is false about it.
std::size_t MaxLeafBytes(const Terms& terms, const LeavesQuestion& question);

// The bytes of the body of the true answer: exactly, or at most for samples and parts.
std::size_t TrueBodyBytes(const Terms& terms, const Question& question);

// What a body may have at most. What is longer is not read.
std::size_t MaxBodyBytes(const Terms& terms, const Question& question);
// The same of the encoding of an answer.
std::size_t MaxAnswerBytes(const Terms& terms, const Question& question);

}  // namespace assay::dispute
