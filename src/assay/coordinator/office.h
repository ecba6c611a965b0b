// Office: what the routes of a coordinator share. Everything in it is thread safe, lives for as long as the server, and keeps no state that another coordinator
// on the same database would need.
#pragma once

#include <cstdint>
#include <memory>

#include "assay/coordinator/blob_rights.h"
#include "assay/coordinator/book.h"
#include "assay/coordinator/histories.h"
#include "assay/coordinator/hub.h"
#include "assay/coordinator/metrics.h"
#include "assay/coordinator/request_log.h"
#include "assay/coordinator/routes.h"
#include "assay/coordinator/tokens.h"
#include "assay/store/blobs.h"
#include "assay/store/clock.h"
#include "assay/store/database.h"

namespace assay::coordinator {

struct Office {
  store::Database& database;
  store::Blobs& blobs;
  const SigningKey& key;
  Book& book;
  Tokens& tokens;
  BlobRights& rights;
  Hub& hub;
  Histories& histories;
  Metrics& metrics;
  RequestLog& log;
  std::shared_ptr<store::Clock> clock;
  std::string version{};
  std::int64_t lease_ms = 60'000;
  std::uint64_t max_blob_bytes = std::uint64_t{64} << 30;
  std::int64_t Now() const { return clock->WallMs(); }
};

// Each adds the rows of its part, with their schemas. The office must outlive the routes.
void AddOpenRoutes(
    Routes& routes,
    Office& office);  // after all others: the OpenAPI document is written from what is there when it is asked for
void AddBlobRoutes(Routes& routes, Office& office);
void AddOrderRoutes(Routes& routes, Office& office);
void AddAdminRoutes(Routes& routes, Office& office);
void AddMlflowRoutes(Routes& routes, Office& office);
void AddViewRoutes(Routes& routes, Office& office);
void AddPageRoutes(Routes& routes);

// 404 where there is no such order, or it belongs to another account and the caller is no administrator. For GET and POST of clients.
Outcome<void> CheckOwner(Office& office, const Call& call, const std::string& order);
// By an order's client or an administrator, whose right to it has been checked. Also where it is cancelled already; 409 where it is decided.
Answer CancelOrder(Office& office, const std::string& order, const std::string& by);

}  // namespace assay::coordinator
