// The telemetry of a delivered run, as points of metrics. Thread safe.
#pragma once

#include <vector>

#include "assay/life/order.h"
#include "assay/run/receipt.h"
#include "assay/store/blobs.h"
#include "assay/tracking/points.h"

namespace assay::coordinator {

// Of telemetry.bin as far as it is a chain of the receipt's run by its signer. None where the run has no such file, or one of more than 64 MB.
Result<std::vector<tracking::Point>> PointsOfRun(store::Blobs& blobs, const std::vector<life::OrderFile>& files,
                                                 const Receipt& receipt);

}  // namespace assay::coordinator
