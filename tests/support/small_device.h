// A device with so much memory left; nothing is run on it.
#pragma once

#include <gtest/gtest.h>

#include "assay/backend/host.h"

namespace assay::testkit {

class SmallDevice final : public HostBackend {
 public:
  SmallDevice(ThreadPool& pool, std::size_t free) : HostBackend(pool), free_(free) {}
  std::string_view name() const override { return "small"; }
  void Run(const KernelArgs&) override { FAIL(); }
  void RunElements(const KernelArgs&, std::int64_t, std::int64_t) override { FAIL(); }
  bool in_place() const override { return true; }
  std::optional<std::size_t> free_bytes() const override { return free_; }

 private:
  std::size_t free_;
};

}  // namespace assay::testkit
