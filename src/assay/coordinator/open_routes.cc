#include <memory>
#include <mutex>
#include <utility>

#include "assay/coordinator/office.h"
#include "assay/coordinator/openapi.h"

namespace assay::coordinator {
namespace {

using store::Rows;
using store::Transaction;

Status CheckHealth(Office& office) {
  const Status read = office.database.Read([](Transaction& t) -> Status {
    ASSAY_TRY(t.Run("SELECT 1 FROM settings LIMIT 1"));
    return {};
  });
  ASSAY_TRY(read);
  ASSAY_TRY(office.blobs.Has(Digest{}));
  return {};
}

Answer Health(Office& office) {
  const Status healthy = CheckHealth(office);
  if (healthy) return JsonAnswer(200, {{"status", "ok"}});
  return Later(5, "the database or the folder of blobs does not answer", healthy.error().message);
}

// What is counted in the database, asked for at most every five seconds however often the page is.
class Counts {
 public:
  explicit Counts(Office& office) : office_(office) {}

  double Of(std::size_t which) {
    const std::lock_guard lock(mutex_);
    const std::int64_t now_ms = office_.clock->SteadyMs();
    if (at_ms_ < 0 || now_ms - at_ms_ >= 5000) {
      at_ms_ = now_ms;
      auto counted = office_.database.Read([&](Transaction& t) { return Count(t); });
      if (counted) values_ = *counted;
    }
    return values_[which];
  }

  struct Row {
    const char* name;
    const char* help;
    const char* sql;
  };
  static constexpr std::array<Row, 5> kRows = {{
      {"assay_orders_open", "Orders without a verdict", "SELECT COUNT(*) FROM orders WHERE verdict = ''"},
      {"assay_leases_open", "Leases that are open", "SELECT COUNT(*) FROM leases WHERE open = 1"},
      {"assay_disputes_wanted", "Disputes that are wanted or under way", "SELECT COUNT(*) FROM wants WHERE kind = 'dispute'"},
      {"assay_workers", "Workers that are registered", "SELECT COUNT(*) FROM workers"},
      {"assay_workers_convicted", "Workers that evidence convicts", "SELECT COUNT(*) FROM workers WHERE evidence <> ''"},
  }};

 private:
  static Result<std::array<double, kRows.size()>> Count(Transaction& t) {
    std::array<double, kRows.size()> values{};
    for (std::size_t i = 0; i < kRows.size(); ++i) {
      ASSAY_ASSIGN(const Rows rows, t.Run(kRows[i].sql));
      ASSAY_ASSIGN(const std::int64_t count, rows[0].Integer(0));
      values[i] = static_cast<double>(count);
    }
    return values;
  }

  Office& office_;
  std::mutex mutex_;
  std::int64_t at_ms_ = -1;
  std::array<double, kRows.size()> values_{};
};

HttpResponse MetricsPage(const Office& office) {
  const std::string text = office.metrics.Text();
  return {.status = 200, .content_type = "text/plain; version=0.0.4; charset=utf-8", .body = Bytes(text.begin(), text.end())};
}

}  // namespace

void AddOpenRoutes(Routes& routes, Office& office) {
  const auto counts = std::make_shared<Counts>(office);
  for (std::size_t i = 0; i < Counts::kRows.size(); ++i) {
    office.metrics.AddGauge(Counts::kRows[i].name, Counts::kRows[i].help, [counts, i] { return counts->Of(i); });
  }
  office.metrics.AddGauge("assay_viewers", "Streams of events that are open",
                          [&office] { return static_cast<double>(office.hub.viewers()); });
  routes.AddSchema("Health", R"({"type":"object","required":["status"],"properties":{"status":{"const":"ok"}}})");
  routes.AddSchema("Coordinator", R"({"type":"object","required":["key","version","lease_ms","max_blob_bytes"],"properties":{
    "key":{"type":"string"},"version":{"type":"string"},"lease_ms":{"type":"integer"},"max_blob_bytes":{"type":"integer"}}})");
  routes.Add({.method = "GET",
              .path = "/healthz",
              .summary = "Whether the database and the blobs answer",
              .response_schema = "Health",
              .quiet = true,
              .answer = [&office](const Call&) { return Health(office); }});
  routes.Add({.method = "GET",
              .path = "/metrics",
              .summary = "Prometheus text",
              .response_schema = "text/plain",
              .quiet = true,
              .answer = [&office](const Call&) -> Answer { return MetricsPage(office); }});
  const std::string about = Compact({{"key", office.key.verify_key().ToString()},
                                     {"version", office.version},
                                     {"lease_ms", office.lease_ms},
                                     {"max_blob_bytes", office.max_blob_bytes}});
  routes.Add({.method = "GET",
              .path = "/v1/coordinator",
              .summary = "Who this coordinator is",
              .response_schema = "Coordinator",
              .later = [about](Call, Responder responder) { responder.Send(JsonText(200, about)); },
              .at_once = true});
  struct Document {
    std::once_flag once;
    std::shared_ptr<const Bytes> bytes;
  };
  const auto document = std::make_shared<Document>();
  routes.Add({.method = "GET",
              .path = "/openapi.json",
              .summary = "This document",
              .response_schema = "application/json",
              .answer = [document, &routes, version = office.version](const Call&) -> Answer {
                std::call_once(document->once, [&] {
                  const std::string text = Compact(OpenApiOf(routes, version));
                  document->bytes = std::make_shared<const Bytes>(text.begin(), text.end());
                });
                return HttpResponse{.status = 200, .content_type = "application/json", .document = document->bytes};
              }});
}

}  // namespace assay::coordinator
