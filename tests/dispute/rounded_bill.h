// What disputes about rounded jobs cost: the dearest element of every sort of op, argued by two providers before a referee and judged again from the evidence.
#pragma once

namespace assay::dispute {

// `large`: GPT-2-124M, ResNet-50 and what follows from the shapes of larger ones; otherwise the largest shapes that are accepted, in narrow models. False when a limit is
// passed or a verdict is wrong; prints a line for each job and sort.
bool PlayRoundedBills(bool large);

}  // namespace assay::dispute
