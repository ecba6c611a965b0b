// The root of a tensor of 256 MiB, against OpenSSL's SHA-256 over the same bytes in one stream for each thread. Speeds in GB/s.
#include <openssl/evp.h>

#include <thread>

#include "assay/base/check.h"
#include "assay/merkle/sha256_lanes.h"
#include "assay/merkle/tree.h"
#include "harness.h"

namespace assay::bench {
namespace {

constexpr std::size_t kTensorBytes = std::size_t{256} << 20;

Digest OpenSsl(ByteSpan bytes) {
  Digest digest;
  ASSAY_CHECK(EVP_Digest(bytes.data(), bytes.size(), digest.bytes.data(), nullptr, EVP_sha256(), nullptr) == 1);
  return digest;
}

void OpenSslStreams(ByteSpan bytes, int threads) {
  const std::size_t part = bytes.size() / static_cast<std::size_t>(threads);
  std::vector<std::thread> others;
  for (int i = 1; i < threads; ++i) {
    others.emplace_back([&, i] { OpenSsl(bytes.subspan(static_cast<std::size_t>(i) * part, part)); });
  }
  OpenSsl(bytes.first(part));
  for (std::thread& other : others) other.join();
}

void Measure(ByteSpan tensor, int threads, double seconds, Report& report) {
  ThreadPool pool(threads);
  const std::vector<double> best =
      Race({[&] { TensorRoots({&tensor, 1}, pool); }, [&] { OpenSslStreams(tensor, threads); }}, threads, seconds);
  const double work = 1e-9 * static_cast<double>(tensor.size());
  report.Add({"sha256 4 KiB leaves (GB/s)", "OpenSSL", threads, work / best[0], work / best[1], 1.8});
}

// The leaves alone with each implementation in turn, for information.
void MeasureEach(ByteSpan tensor, double seconds) {
  const sha256::Messages leaves{tensor.data(), kLeafBytes, kLeafBytes, tensor.size() / kLeafBytes};
  std::vector<Digest> digests(leaves.count);
  const std::vector<sha256::Lanes> all = sha256::AllLanes();
  std::vector<std::function<void()>> contenders;
  for (const sha256::Lanes& lanes : all) contenders.push_back([&] { sha256::HashEachBy(lanes, 0x00, leaves, digests.data()); });
  const std::vector<double> best = Race(contenders, 1, seconds);
  for (std::size_t i = 0; i < all.size(); ++i) {
    fmt::print("  {:<14} {:.2f} GB/s\n", all[i].name, 1e-9 * static_cast<double>(tensor.size()) / best[i]);
  }
}

}  // namespace
}  // namespace assay::bench

int main(int argc, char** argv) {
  using namespace assay;
  const bench::Options options = bench::ParseOptions(argc, argv);
  Bytes tensor(bench::kTensorBytes);
  std::uint64_t state = 1;
  for (std::uint8_t& byte : tensor) byte = static_cast<std::uint8_t>((state = state * 6364136223846793005u + 1) >> 56);
  ASSAY_CHECK(bench::OpenSsl(tensor) == HashBytes(tensor));  // both do the same work
  bench::MeasureEach(tensor, options.seconds);
  bench::Report report;
  for (int threads : options.threads) bench::Measure(tensor, threads, options.seconds, report);
  return report.WriteJson(options.json) ? 0 : 2;
}
