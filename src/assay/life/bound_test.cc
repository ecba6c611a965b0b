#include "assay/life/bound.h"

#include <gtest/gtest.h>

#include "support/life_parties.h"
#include "support/seal_trial.h"

namespace assay::life {
namespace {

class Bound : public seal::SealTrial {
 protected:
  static SealBinding BindingOf(const Bytes& sealed) {
    const auto identities = seal::KnownIdentities(0x42);
    return std::move(SealReader::Open(SpanSource(sealed), identities, "x").value()).TakeBinding();
  }
  static Order OrderFor(const Bytes& sealed) {
    return {.id = "000102030405060708090a0b0c0d0e0f",
            .client = testkit::KeyOf("client").verify_key().ToString(),
            .coordinator = {},
            .files = {{.name = "job.toml", .sha256 = HashBytes(sealed), .bytes = std::ssize(sealed)}},
            .reply = seal::Known(0x43).recipient().ToString()};
  }
};

// Computed by tests/vectors/sealed.py.
TEST_F(Bound, Vector) {
  const Bytes sealed = seal::Sealed(AsBytes("hello"), seal::KnownIdentities(0x42));
  Order order = OrderFor(sealed);
  order.client = "client";
  EXPECT_EQ(BoundOf(BindingOf(sealed), order, order.files[0]),
            "be00d3beaa385fe9d0d6e53ef2c714867fe102a7c91a37fa5faab89509578f16");
}

TEST_F(Bound, ToOneOrderItsClientItsReplyAndItsName) {
  const Bytes sealed = seal::Sealed(AsBytes("hello"), seal::KnownIdentities(0x42), seal::SystemRandomness);
  const SealBinding binding = BindingOf(sealed);
  const Order order = OrderFor(sealed);
  OrderFile file = order.files[0];
  EXPECT_FALSE(CheckBound(binding, order, file)) << "bound to nothing";
  file.bound = BoundOf(binding, order, file);
  EXPECT_TRUE(CheckBound(binding, order, file));
  const auto bound = [&](const auto& change) {
    Order other = order;
    OrderFile renamed = file;
    change(other, renamed);
    return CheckBound(binding, other, renamed).has_value();
  };
  EXPECT_FALSE(bound([](Order& o, OrderFile&) { o.id.back() = '0'; }));
  EXPECT_FALSE(bound([](Order& o, OrderFile&) { o.client = testkit::KeyOf("thief").verify_key().ToString(); }));
  EXPECT_FALSE(bound([](Order& o, OrderFile&) { o.reply = seal::Known(0x44).recipient().ToString(); }));
  EXPECT_FALSE(bound([](Order&, OrderFile& f) { f.name = "data.txt"; }));
  EXPECT_FALSE(bound([](Order&, OrderFile& f) { f.sha256 = testkit::DigestOf("other bytes"); }));
  EXPECT_FALSE(bound([](Order&, OrderFile& f) { f.bound.front() = f.bound.front() == '0' ? '1' : '0'; }));
  // Another file, by whoever knows no more than the recipients.
  const Bytes again = seal::Sealed(AsBytes("hello"), seal::KnownIdentities(0x42), seal::SystemRandomness);
  EXPECT_FALSE(CheckBound(BindingOf(again), order, file));
}

TEST_F(Bound, NothingIsWrittenOfAFileThatIsNot) {
  const Bytes sealed = seal::Sealed(AsBytes("hello"), seal::KnownIdentities(0x42));
  const auto identities = seal::KnownIdentities(0x42);
  int pieces = 0;
  const ByteSink sink = [&](ByteSpan) -> Status {
    ++pieces;
    return {};
  };
  EXPECT_FALSE(Unseal(SpanSource(sealed), identities, sink, "x", [](const SealBinding&) -> Status { return Err("no"); }));
  EXPECT_EQ(pieces, 0);
  EXPECT_TRUE(Unseal(SpanSource(sealed), identities, sink, "x", [](const SealBinding&) -> Status { return {}; }));
  EXPECT_EQ(pieces, 1);
}

}  // namespace
}  // namespace assay::life
