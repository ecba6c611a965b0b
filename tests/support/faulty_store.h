// A database and blobs that fail when a test says so: the k-th thing that they are asked to do fails before it is done, or is done and reported
// as failed, or half of it is done. For tests and simulations of what stands on the store. As thread safe as the plan is.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "assay/store/blobs.h"
#include "assay/store/database.h"

namespace assay::testkit {

enum class Trouble {
  kNone,
  kBefore,       // it is not done, and the error says so
  kLostRequest,  // it is not done, and the error says that nobody knows
  kLostAnswer,   // it is done, and the error says that nobody knows
  kHalf,         // of an appended piece the first half is there; all else as kBefore
};
enum class Point { kBegin, kStatement, kCommit, kBlobAppend, kBlobFinish, kBlobRemove };

// What happens at each point, called once for each time that one is reached.
using FaultPlan = std::function<Trouble(Point point)>;

// The k-th time, from 0, that `point` is reached.
inline FaultPlan FailAt(Point point, std::int64_t k, Trouble trouble) {
  auto seen = std::make_shared<std::int64_t>(0);
  return [=](Point at) { return at == point && (*seen)++ == k ? trouble : Trouble::kNone; };
}

inline Error Injected(Trouble trouble) {
  return {"injected fault", true, trouble == Trouble::kLostRequest || trouble == Trouble::kLostAnswer};
}

class FaultyDatabase final : public store::Database {
 public:
  FaultyDatabase(std::unique_ptr<store::Database> inner, FaultPlan plan) : inner_(std::move(inner)), plan_(std::move(plan)) {}

  Status Transact(store::Access access, const Body& body) override {
    Trouble at_commit = Trouble::kNone;
    Status done = inner_->Transact(access, [&](store::Transaction& transaction) -> Status {
      if (const Trouble trouble = plan_(Point::kBegin); trouble != Trouble::kNone)
        return tl::unexpected(Injected(Trouble::kBefore));
      Faulty faulty(transaction, plan_);
      ASSAY_TRY(body(faulty));
      if (faulty.failed()) return tl::unexpected(Injected(Trouble::kBefore));
      at_commit = plan_(Point::kCommit);
      if (at_commit != Trouble::kNone && at_commit != Trouble::kLostAnswer) return tl::unexpected(Injected(at_commit));
      return {};
    });
    if (done && at_commit == Trouble::kLostAnswer) return tl::unexpected(Injected(at_commit));
    return done;
  }
  const std::string& name() const override { return inner_->name(); }
  std::unique_ptr<store::Database> Release() { return std::move(inner_); }  // the last call

 private:
  // A statement that was done and reported as failed takes its transaction with it, so before and after differ in nothing but the order.
  class Faulty final : public store::Transaction {
   public:
    Faulty(store::Transaction& inner, const FaultPlan& plan) : inner_(inner), plan_(plan) {}
    Result<store::Rows> Run(std::string_view sql, std::span<const store::Value> parameters) override {
      ASSAY_TRY(Step());
      return inner_.Run(sql, parameters);
    }
    Status RunScript(std::string_view sql) override {
      ASSAY_TRY(Step());
      return inner_.RunScript(sql);
    }
    bool failed() const { return failed_; }

   private:
    Status Step() {
      failed_ = failed_ || plan_(Point::kStatement) != Trouble::kNone;
      if (failed_) return tl::unexpected(Injected(Trouble::kBefore));
      return {};
    }
    store::Transaction& inner_;
    const FaultPlan& plan_;
    bool failed_ = false;
  };

  std::unique_ptr<store::Database> inner_;
  FaultPlan plan_;
};

class FaultyBlobs final : public store::Blobs {
 public:
  FaultyBlobs(std::unique_ptr<store::Blobs> inner, FaultPlan plan) : inner_(std::move(inner)), plan_(std::move(plan)) {}

  Result<bool> Has(const Digest& hash) override { return inner_->Has(hash); }
  Result<std::uint64_t> Size(const Digest& hash) override { return inner_->Size(hash); }
  Result<std::unique_ptr<store::BlobReader>> OpenForReading(const Digest& hash) override {
    return inner_->OpenForReading(hash);
  }
  Result<std::uint64_t> Begun(const Digest& hash, std::string_view owner) override { return inner_->Begun(hash, owner); }
  Result<std::uint64_t> Begin(const Digest& hash, std::string_view owner, std::uint64_t size) override {
    return inner_->Begin(hash, owner, size);
  }
  Result<std::uint64_t> Append(const Digest& hash, std::string_view owner, std::uint64_t offset, ByteSpan bytes) override {
    const Trouble trouble = plan_(Point::kBlobAppend);
    if (trouble == Trouble::kNone) return inner_->Append(hash, owner, offset, bytes);
    if (trouble == Trouble::kHalf) ASSAY_TRY(inner_->Append(hash, owner, offset, bytes.first(bytes.size() / 2)));
    if (trouble == Trouble::kLostAnswer) ASSAY_TRY(inner_->Append(hash, owner, offset, bytes));
    return tl::unexpected(Injected(trouble));
  }
  Status Finish(const Digest& hash, std::string_view owner) override {
    return Around(Point::kBlobFinish, [&] { return inner_->Finish(hash, owner); });
  }
  Status Abandon(const Digest& hash, std::string_view owner) override { return inner_->Abandon(hash, owner); }
  Result<std::int64_t> Sweep(std::int64_t age_ms) override { return inner_->Sweep(age_ms); }
  Result<std::vector<store::BlobInfo>> List(std::uint8_t first) override { return inner_->List(first); }
  Result<bool> Renew(const Digest& hash) override { return inner_->Renew(hash); }
  Result<bool> RemoveIf(const Digest& hash, std::int64_t before_ms, const std::function<Result<bool>()>& confirm) override {
    return Around(Point::kBlobRemove, [&] { return inner_->RemoveIf(hash, before_ms, confirm); });
  }

 private:
  template <class Call>
  std::invoke_result_t<const Call&> Around(Point point, const Call& call) {
    const Trouble trouble = plan_(point);
    if (trouble == Trouble::kNone) return call();
    if (trouble == Trouble::kLostAnswer) ASSAY_TRY(call());
    return tl::unexpected(Injected(trouble));
  }

  std::unique_ptr<store::Blobs> inner_;
  FaultPlan plan_;
};

}  // namespace assay::testkit
