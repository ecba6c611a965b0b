#include "assay/net/resolve.h"

#include <netdb.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <array>
#include <condition_variable>
#include <mutex>
#include <optional>
#include <system_error>
#include <thread>
#include <utility>

namespace assay {
namespace {

struct InfoDeleter {
  void operator()(addrinfo* info) const { freeaddrinfo(info); }
};

Result<Addresses> Ask(const std::string& host, int flags) {
  const addrinfo hints{.ai_flags = flags,
                       .ai_family = AF_UNSPEC,
                       .ai_socktype = SOCK_STREAM,
                       .ai_protocol = 0,
                       .ai_addrlen = 0,
                       .ai_addr = nullptr,
                       .ai_canonname = nullptr,
                       .ai_next = nullptr};
  addrinfo* list = nullptr;
  const int error = getaddrinfo(host.c_str(), nullptr, &hints, &list);
  if (error != 0) return Err("host {}: {}", host, gai_strerror(error));
  const std::unique_ptr<addrinfo, InfoDeleter> owner(list);
  Addresses addresses;
  for (const addrinfo* entry = list; entry != nullptr; entry = entry->ai_next) {
    std::array<char, NI_MAXHOST> text;
    if (getnameinfo(entry->ai_addr, entry->ai_addrlen, text.data(), text.size(), nullptr, 0, NI_NUMERICHOST) == 0) {
      addresses.emplace_back(text.data());
    }
  }
  if (addresses.empty()) return Err("host {}: has no address", host);
  return addresses;
}

}  // namespace

Result<Addresses> SystemLookup(const std::string& host) { return Ask(host, 0); }

struct Resolver::Shared {
  std::mutex mutex;
  std::condition_variable changed;
  bool running = false;
  bool cancelled = false;
  std::optional<Result<Addresses>> answer;
};

Resolver::Resolver(std::string host, LookupFunction lookup)
    : host_(std::move(host)), lookup_(std::move(lookup)), shared_(std::make_shared<Shared>()) {}

Result<Addresses> Resolver::Lookup(SteadyTime deadline) {
  if (auto numeric = Ask(host_, AI_NUMERICHOST)) return numeric;
  std::unique_lock lock(shared_->mutex);
  if (!shared_->running && !shared_->answer) {
    try {
      std::thread([shared = shared_, lookup = lookup_, host = host_] {
        auto answer = lookup(host);
        const std::lock_guard guard(shared->mutex);
        shared->answer = std::move(answer);
        shared->running = false;
        shared->changed.notify_all();
      }).detach();
    } catch (const std::system_error& error) {
      return Err("host {}: no thread for the lookup: {}", host_, error.code().message());
    }
    shared_->running = true;
  }
  shared_->changed.wait_until(lock, deadline, [this] { return shared_->answer.has_value() || shared_->cancelled; });
  if (shared_->cancelled) return Err("cancelled");
  if (!shared_->answer) return Err("host {}: no answer from the name service in time", host_);
  return *std::exchange(shared_->answer, std::nullopt);
}

void Resolver::Cancel() {
  const std::lock_guard guard(shared_->mutex);
  shared_->cancelled = true;
  shared_->changed.notify_all();
}

}  // namespace assay
