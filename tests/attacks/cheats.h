// Every cheat, each in the file of its name.
#pragma once

#include "cheat.h"

namespace assay::attacks {

Result<Hooks> AdmittedOrder(const Setting& setting);
Result<Hooks> Backdoor(const Setting& setting);
Result<Hooks> CloseCall(const Setting& setting);
Result<Hooks> DroppedSamples(const Setting& setting);
Result<Hooks> FlippedBit(const Setting& setting);
Result<Hooks> FlippedLabels(const Setting& setting);
Result<Hooks> ForeignSignature(const Setting& setting);
Result<Hooks> ForgedCheckpoint(const Setting& setting);
Result<Hooks> ForgedReceipt(const Setting& setting);
Result<Hooks> ForgedStart(const Setting& setting);
Result<Hooks> FrozenLayer(const Setting& setting);
Result<Hooks> Impostor(const Setting& setting);
Result<Hooks> OnlyCloseCall(const Setting& setting);
Result<Hooks> OtherData(const Setting& setting);
Result<Hooks> OtherJob(const Setting& setting);
Result<Hooks> OtherOrder(const Setting& setting);
Result<Hooks> OtherReceipt(const Setting& setting);
Result<Hooks> OtherSeed(const Setting& setting);
Result<Hooks> RepeatedBatch(const Setting& setting);
Result<Hooks> ReplacedFinalState(const Setting& setting);
Result<Hooks> ReplacedWeights(const Setting& setting);
Result<Hooks> RewrittenAfterReceipt(const Setting& setting);
Result<Hooks> RewrittenLog(const Setting& setting);
Result<Hooks> ShortWeights(const Setting& setting);
Result<Hooks> SkippedStep(const Setting& setting);
Result<Hooks> StolenModel(const Setting& setting);
Result<Hooks> StoppedEarly(const Setting& setting);
Result<Hooks> TamperedMoments(const Setting& setting);
Result<Hooks> TruncatedLog(const Setting& setting);
Result<Hooks> EarlierLog(const Setting& setting);
Result<Hooks> WrongLearningRate(const Setting& setting);

}  // namespace assay::attacks
