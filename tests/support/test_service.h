// Servers for tests of services: one that starts or fails the test, and what waits for something to become true.
#pragma once

#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <string>
#include <thread>
#include <utility>

#include "assay/net/http_client.h"
#include "assay/net/http_server.h"

namespace assay {

inline std::unique_ptr<HttpServer> ServeWith(const ServerOptions& options, Service service) {
  auto server = HttpServer::Serve(options, std::move(service));
  if (!server) ADD_FAILURE() << server.error().message;
  return *std::move(server);
}

inline std::unique_ptr<HttpClient> ClientOf(const HttpServer& server) { return *HttpClient::Create(server.url()); }

// Whether it becomes true within ten seconds.
template <typename Condition>
bool Eventually(Condition condition) {
  const auto start = std::chrono::steady_clock::now();
  while (!condition()) {
    if (std::chrono::steady_clock::now() - start > std::chrono::seconds(10)) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return true;
}

}  // namespace assay
