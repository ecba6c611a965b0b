// Keys, orders, receipts and reports of made-up parties, for tests of orders' lives. Everything follows from small numbers.
#pragma once

#include <string>
#include <vector>

#include "assay/life/order.h"
#include "assay/life/report.h"
#include "assay/life/sample.h"
#include "assay/run/receipt.h"
#include "assay/seal/keys.h"

namespace assay::testkit {

inline Digest DigestOf(const std::string& text) { return HashBytes(AsBytes(text)); }
inline SigningKey KeyOf(const std::string& name) { return {name, DigestOf("key of " + name).bytes}; }
inline std::string WorkerKey(int worker) { return KeyOf("worker" + std::to_string(worker)).verify_key().ToString(); }

// A recipient that nobody has the identity of.
inline Recipient RecipientOf(const std::string& name) { return Recipient(DigestOf("recipient of " + name).bytes); }

// `sealed`: to the workers of these numbers.
inline std::string OrderOf(const life::Policy& policy, const std::string& client = "client",
                           const std::vector<int>& sealed = {}) {
  const SigningKey key = KeyOf(client);
  life::Order order{.id = DigestOf("order").hex().substr(0, 32),
                    .client = key.verify_key().ToString(),
                    .coordinator = KeyOf("coordinator").verify_key().ToString(),
                    .job = DigestOf("job"),
                    .files = {{.name = "data/text.txt", .sha256 = DigestOf("data"), .bytes = 4},
                              {.name = "job.toml", .sha256 = DigestOf("toml"), .bytes = 4}},
                    .policy = policy,
                    .made = 1'700'000'000};
  for (const int worker : sealed) order.sealed.push_back(RecipientOf("worker" + std::to_string(worker)).ToString());
  if (!sealed.empty()) {
    order.reply = RecipientOf(client).ToString();
    for (life::OrderFile& file : order.files) file.bound = DigestOf("bound " + file.name).hex();
  }
  return life::SignOrder(order, key);
}

// Of the log that the worker keeps about the job.
inline std::string OriginOf(int worker) { return fmt::format("worker{}/{}", worker, DigestOf("job").hex()); }

// `claim`: which of many results the worker says the job has; 0 is the true one.
inline Receipt ReceiptOf(int worker, int claim) {
  const std::string said = std::to_string(claim);
  return {.model = DigestOf("model" + said),
          .job = DigestOf("job"),
          .trajectory = DigestOf("trajectory"),
          .program = DigestOf("program"),
          .data = DigestOf("data"),
          .steps = 10,
          .commit_every = 1,
          .snapshot_every = 5,
          .log = {.origin = OriginOf(worker), .size = 11, .root = DigestOf("log" + said)},
          .initial_state_root = DigestOf("initial"),
          .final_state_root = DigestOf("final" + said),
          .loss_bits = 0x3f800000,
          .weights = DigestOf("weights" + said),
          .signer = WorkerKey(worker)};
}

inline std::string ReceiptFile(int worker, int claim) {
  return SignReceipt(ReceiptOf(worker, claim), KeyOf("worker" + std::to_string(worker)));
}

// With a share of the auditor's, and the sample that follows from it.
inline life::Report Sampled(life::Report report, const Receipt& receipt, const std::string& share = "share") {
  report.share = DigestOf(share).hex();
  report.sample.clear();
  if (report.finding == life::Finding::kVerified)
    report.sample = *life::SampleOf(receipt, report.receipt, report.nonce, report.share, report.percent);
  return report;
}

}  // namespace assay::testkit
