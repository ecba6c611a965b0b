// Order: what a client asks of a coordinator, under its signature (docs/formats/life.md). Value types; pure functions.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "assay/base/result.h"
#include "assay/merkle/sha256.h"
#include "assay/sign/key.h"

namespace assay::life {

// A file that a job needs, as it is stored.
struct OrderFile {
  std::string name;  // relative, without "." and ".." parts
  Digest sha256{};
  std::int64_t bytes = 0;
  std::string
      bound{};  // of a sealed order: what binds the sealed file to it, see bound.h; empty otherwise, and of a run's files
  friend bool operator==(const OrderFile&, const OrderFile&) = default;
};

struct Policy {
  std::int64_t replicas = 2;  // runs by different keys that have to agree
  std::int64_t audit = 0;     // percent of a run that another worker replays
  std::int64_t probe = 100;   // percent: how often a provider with a clean record is checked
  std::int64_t attempts = 8;  // training leases in all
  friend bool operator==(const Policy&, const Policy&) = default;
};

// What a lease may use; 0: what the coordinator allows anyway.
struct LeaseLimits {
  std::int64_t memory = 0, disk = 0;  // bytes
  std::int64_t seconds = 0;
  friend bool operator==(const LeaseLimits&, const LeaseLimits&) = default;
};

struct Order {
  std::string id;           // 32 hex digits
  std::string client;       // public key, NAME+HASH+DATA
  std::string coordinator;  // public key
  Digest job{};
  std::vector<OrderFile> files;  // ascending by name; one is job.toml
  Policy policy{};
  LeaseLimits limits{};
  std::vector<std::string> sealed{};  // age recipients; empty: not sealed
  std::string reply{};                // age recipient that results are sealed to; empty where the order is not sealed
  std::int64_t made = 0;              // seconds since 1970, by the client's clock
  friend bool operator==(const Order&, const Order&) = default;
};

inline constexpr std::size_t kMaxOrderBytes = 256 << 10;
inline constexpr std::string_view kJobFile = "job.toml";

bool IsOrderId(std::string_view text);
// A name that a file of an order or of a run may have: a relative path that leads nowhere else.
bool IsFileName(std::string_view name);
// One line that says what is wrong with a policy.
Status CheckPolicy(const Policy& policy);

// The envelope. The order's client must be the key's public half.
std::string SignOrder(const Order& order, const SigningKey& key);
// Accepts exactly what SignOrder writes, signed by the client that the order names. `what` names the source in errors.
Result<Order> OpenOrder(std::string_view envelope, std::string_view what);

}  // namespace assay::life
