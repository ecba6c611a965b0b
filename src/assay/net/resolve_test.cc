#include "assay/net/resolve.h"

#include <gtest/gtest.h>

#include <atomic>
#include <future>
#include <thread>

namespace assay {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

TEST(Resolver, NumericHostsAreNotLookedUp) {
  Resolver resolver("::1", [](const std::string&) -> Result<Addresses> { return Err("looked up"); });
  const auto addresses = resolver.Lookup(steady_clock::now());
  ASSERT_TRUE(addresses) << addresses.error().message;
  EXPECT_EQ(*addresses, Addresses{"::1"});
}

TEST(Resolver, LocalhostByTheSystem) {
  Resolver resolver("localhost");
  const auto addresses = resolver.Lookup(steady_clock::now() + milliseconds(5000));
  ASSERT_TRUE(addresses) << addresses.error().message;
  EXPECT_FALSE(addresses->empty());
}

TEST(Resolver, ErrorsAreHandedOn) {
  Resolver resolver("nowhere", [](const std::string& host) -> Result<Addresses> { return Err("host {}: unknown", host); });
  const auto addresses = resolver.Lookup(steady_clock::now() + milliseconds(5000));
  ASSERT_FALSE(addresses);
  EXPECT_EQ(addresses.error().message, "host nowhere: unknown");
}

// A lookup that hangs until it is let go.
struct Hanging {
  std::shared_ptr<std::promise<void>> go = std::make_shared<std::promise<void>>();
  std::shared_ptr<std::atomic<int>> calls = std::make_shared<std::atomic<int>>(0);
  LookupFunction Function() {
    return [calls = calls, go = go, gone = go->get_future().share()](const std::string&) -> Result<Addresses> {
      ++*calls;
      gone.wait();
      return Addresses{"10.0.0.1"};
    };
  }
};

TEST(Resolver, ADeadlineLeavesTheLookupBehindAndTheNextCallTakesItsAnswer) {
  Hanging hanging;
  Resolver resolver("slow", hanging.Function());
  EXPECT_FALSE(resolver.Lookup(steady_clock::now() + milliseconds(20)));
  EXPECT_FALSE(resolver.Lookup(steady_clock::now() + milliseconds(20)));
  hanging.go->set_value();
  const auto addresses = resolver.Lookup(steady_clock::now() + milliseconds(5000));
  ASSERT_TRUE(addresses) << addresses.error().message;
  EXPECT_EQ(*addresses, Addresses{"10.0.0.1"});
  EXPECT_EQ(*hanging.calls, 1);
  ASSERT_TRUE(resolver.Lookup(steady_clock::now() + milliseconds(5000)));  // an answer is for one call
  EXPECT_EQ(*hanging.calls, 2);
}

TEST(Resolver, AnAnswerThatCameTooLateIsForTheNextCall) {
  Hanging hanging;
  Resolver resolver("slow", hanging.Function());
  EXPECT_FALSE(resolver.Lookup(steady_clock::now() + milliseconds(20)));
  hanging.go->set_value();
  std::this_thread::sleep_for(milliseconds(100));
  ASSERT_TRUE(resolver.Lookup(steady_clock::now() + milliseconds(5000)));
  EXPECT_EQ(*hanging.calls, 1);
}

TEST(Resolver, TheResolverMayGoBeforeTheLookup) {
  Hanging hanging;
  {
    Resolver resolver("slow", hanging.Function());
    EXPECT_FALSE(resolver.Lookup(steady_clock::now() + milliseconds(20)));
  }
  hanging.go->set_value();
}

TEST(Resolver, Cancel) {
  Hanging hanging;
  Resolver resolver("slow", hanging.Function());
  std::thread canceller([&] {
    std::this_thread::sleep_for(milliseconds(20));
    resolver.Cancel();
  });
  const auto start = steady_clock::now();
  EXPECT_FALSE(resolver.Lookup(start + milliseconds(60'000)));
  EXPECT_LT(steady_clock::now() - start, milliseconds(10'000));
  canceller.join();
  hanging.go->set_value();
}

}  // namespace
}  // namespace assay
