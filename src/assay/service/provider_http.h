// What `assay provide` answers over HTTP (docs/formats/dispute.md, "Over HTTP").
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "assay/dispute/answerer.h"
#include "assay/dispute/run_account.h"
#include "assay/net/http.h"
#include "assay/service/shown_run.h"

namespace assay::service {

// The receipt, the job or the program, where that is asked for: nothing that takes work or has to wait. Thread safe.
std::optional<HttpResponse> RespondWithDocument(const HttpRequest& request, const dispute::Account& account);

// Thread safe. Receipt, job and program do not wait for the account; a response may refer to the account's, which must outlive it. `shown`: of a rounded run,
// what others follow it by; null where there is none.
HttpResponse RespondAsProvider(const HttpRequest& request, const dispute::Account& account, dispute::Answerer& answerer,
                               ShownRun* shown = nullptr);

struct ProvideTerms {
  std::string listen;                         // HOST:PORT
  std::string tls_cert{}, tls_key{};          // PEM files, both or neither
  std::vector<dispute::KeyPoint> referees{};  // who may ask; empty: whoever opens a dispute
  std::int64_t open_to_all = kOpenToAll;  // what all referees that are not named get together, in times of what a bout takes
  static constexpr std::int64_t kOpenToAll = 16;
  bool json = false;  // says where it listens as a JSON object
};
// Answers until SIGINT or SIGTERM; one line on standard output says where. Who may ask, and every dispute that is opened or refused, is told on standard error.
Status ServeAccount(dispute::RunAccount& account, const SigningKey& key, const ProvideTerms& terms);

}  // namespace assay::service
