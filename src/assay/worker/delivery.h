// Delivery: a finished run goes to the coordinator: every file as a blob, sealed where the order is, then the result that names them.
//
// May be interrupted and repeated at any point: blobs that are there are not sent again, sealed files are made once, and the result is the same each time.
#pragma once

#include "assay/worker/commitments.h"
#include "assay/worker/order_inputs.h"

namespace assay::worker {

// Makes the result and writes it down (LeaseFolder::SetDelivery). Nothing of `commitments` may be pending.
Outcome<Delivery> MakeDelivery(const Porter& porter, const life::Order& order, const LeaseFolder& folder, const SigningKey& key,
                               const Commitments& commitments);
// Hands it over; afterwards the lease is done.
Outcome<void> HandOver(const Porter& porter, const LeaseFolder& folder, const Delivery& delivery);

}  // namespace assay::worker
