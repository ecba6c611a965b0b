// What a worker sends and reads, as JSON (docs/formats/platform.md, "Workers").
//
// Reading takes replies that may come from anybody: a field that is missing or of another kind is an error, and so is a name that could lead out of a folder or
// of a URL. Pure functions.
#pragma once

#include <string>
#include <string_view>

#include "assay/base/result.h"
#include "assay/worker/link.h"

namespace assay::worker {

std::string ToJson(const Hardware& hardware, const std::string& recipient);
std::string ToJson(const WorkRequest& request);
std::string ToJson(const Commitment& commitment);
std::string ToJson(const Delivery& delivery);
std::string ToJson(const std::vector<Sample>& samples);
std::string ReportJson(const std::string& report);
std::string GiveBackJson(life::Ending why, const std::string& words);

Result<CoordinatorInfo> ParseCoordinator(std::string_view text);
Result<WorkReply> ParseWorkReply(std::string_view text);
Result<LeasePapers> ParsePapers(std::string_view text);
Result<Commitment> ParseCommitment(std::string_view text);
Result<Delivery> ParseDelivery(std::string_view text);

using life::IsFileName;
bool IsQuestionId(std::string_view id);  // letters, digits, '-' and '_'

}  // namespace assay::worker
