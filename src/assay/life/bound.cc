#include "assay/life/bound.h"

namespace assay::life {
namespace {

// No field holds a line feed.
std::string Statement(const Order& order, const OrderFile& file) {
  return fmt::format("assay/sealed/bound/1\n{}\n{}\n{}\n{}\n{}\n", order.id, order.client, order.reply, file.name,
                     file.sha256.hex());
}

}  // namespace

std::string BoundOf(const SealBinding& binding, const Order& order, const OrderFile& file) {
  return assay::Hex(binding.Of(Statement(order, file)));
}

Status CheckBound(const SealBinding& binding, const Order& order, const OrderFile& file) {
  const auto mac = Digest::FromHex(file.bound);
  if (mac && binding.Holds(Statement(order, file), mac->bytes)) return {};
  return Err("{}: was not sealed for this order", file.name);
}

}  // namespace assay::life
