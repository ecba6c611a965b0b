#include "paired_backend.h"

#include <algorithm>
#include <cstring>

#include "assay/base/check.h"
#include "assay/semantics/rounded/formula.h"

namespace assay::observe {
namespace {

constexpr std::size_t kLine = 64;

std::size_t Padded(std::size_t bytes) { return (bytes + kLine - 1) / kLine * kLine; }

}  // namespace

std::vector<PairedBackend::Shown> PairedBackend::Lay(const OpInstance& op, char* memory, std::size_t& used) {
  std::vector<Shown> all;
  used = 0;
  const auto take = [&](std::size_t bytes) {
    char* at = memory == nullptr ? nullptr : memory + used;
    used += Padded(bytes);
    return at;
  };
  for (const TensorType& type : op.out) {
    Shown shown{.elements = type.elements(), .bytes = type.bytes()};
    if (type.dtype == DType::kF32 && op.def->has_bound()) {
      const std::size_t bytes = static_cast<std::size_t>(shown.elements) * sizeof(double);
      shown.y = reinterpret_cast<double*>(take(bytes));
      shown.e = reinterpret_cast<double*>(take(bytes));
    }
    shown.rounded = take(shown.bytes);
    all.push_back(shown);
  }
  return all;
}

std::size_t ChannelBytes(const OpInstance& op) {
  std::size_t bytes = 0;
  for (const TensorType& type : op.out) {
    bytes += 2 * Padded(static_cast<std::size_t>(type.elements()) * sizeof(double)) + Padded(type.bytes());
  }
  return bytes;
}

PairedBackend::PairedBackend(HostBackend& backend, rounded::TestHooks& hooks, Role role, Channel& channel)
    : backend_(backend), hooks_(hooks), role_(role), channel_(channel) {
  hooks_.observe = [this](std::size_t output, std::int64_t at, std::span<const double> y, std::span<const double> e) {
    See(output, at, y, e);
  };
}

PairedBackend::~PairedBackend() { hooks_.observe = nullptr; }

void PairedBackend::See(std::size_t output, std::int64_t at, std::span<const double> y, std::span<const double> e) {
  const Shown& shown = shown_.at(output);
  ASSAY_CHECK(shown.y != nullptr && at >= 0 && at + static_cast<std::int64_t>(y.size()) <= shown.elements);
  seen_ += static_cast<std::int64_t>(y.size());
  if (role_ == Role::kLeader) {
    std::ranges::copy(y, shown.y + at);
    std::ranges::copy(e, shown.e + at);
    return;
  }
  const Differences found = Compare(y, e, shown.y + at, shown.e + at);
  const std::lock_guard lock(mutex_);
  op_ += found;
}

void PairedBackend::Run(const KernelArgs& args) {
  if (role_ == Role::kFollower && !channel_.Wait()) CheckFailed("the other process shows its results", __FILE__, __LINE__);
  std::size_t used = 0;
  shown_ = Lay(*args.op, channel_.data(), used);
  ASSAY_CHECK(used <= channel_.bytes());
  seen_ = 0;
  op_ = {};
  backend_.Run(args);
  std::int64_t expected = 0;
  for (const Shown& shown : shown_) expected += shown.y == nullptr ? 0 : shown.elements;
  ASSAY_CHECK(seen_ == expected);  // every element once
  if (role_ == Role::kLeader) {
    for (std::size_t k = 0; k < shown_.size(); ++k) std::memcpy(shown_[k].rounded, args.out[k], shown_[k].bytes);
  } else {
    Adopt(args);
    differences_[std::string(args.op->def->name)] += op_;
  }
  if (!channel_.Signal()) CheckFailed("the other process takes turns", __FILE__, __LINE__);
  if (role_ == Role::kLeader && !channel_.Wait()) CheckFailed("the other process compares", __FILE__, __LINE__);
}

// Counts what was rounded otherwise and takes the leader's results.
void PairedBackend::Adopt(const KernelArgs& args) {
  for (std::size_t k = 0; k < shown_.size(); ++k) {
    const Shown& shown = shown_[k];
    if (shown.y == nullptr) {
      op_.exact += static_cast<std::uint64_t>(shown.elements);
      op_.beyond += std::memcmp(shown.rounded, args.out[k], shown.bytes) == 0 ? 0 : 1;
    } else {
      const auto *mine = args.Out<std::uint32_t>(k), *theirs = reinterpret_cast<const std::uint32_t*>(shown.rounded);
      for (std::int64_t i = 0; i < shown.elements; ++i) op_.otherwise += mine[i] != theirs[i] ? 1 : 0;
    }
    std::memcpy(args.out[k], shown.rounded, shown.bytes);
  }
}

// Steps of a backend that rounds run op by op.
void PairedBackend::RunGroup(const Group& group) {
  ASSAY_CHECK(group.nodes.size() == 1 && group.slots == 0);
  const GroupNode& node = group.nodes.front();
  std::vector<const void*> in;
  std::vector<void*> out;
  for (const GroupArgument& argument : node.in) in.push_back(argument.base);
  for (const GroupArgument& argument : node.out) out.push_back(argument.base);
  Run({node.op, in, out});
}

}  // namespace assay::observe
