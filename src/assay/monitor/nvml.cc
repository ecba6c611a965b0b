#include "assay/monitor/nvml.h"

#include <dlfcn.h>

#include <array>
#include <charconv>
#include <cstdlib>
#include <string_view>

namespace assay::monitor {
namespace {

// As NVML documents them; its header is not needed for so little.
using Device = void*;
constexpr int kSuccess = 0;
constexpr unsigned kClockSm = 1, kTemperatureGpu = 0;
struct Utilisation {
  unsigned gpu = 0, memory = 0;
};
struct Memory {
  unsigned long long total = 0, free = 0, used = 0;
};

std::string_view VisibleDevice() {
  const char* names = std::getenv("CUDA_VISIBLE_DEVICES");
  if (names == nullptr) return "";
  const std::string_view all(names);
  return all.substr(0, all.find(','));
}

}  // namespace

struct Nvml::Calls {
  void* library = nullptr;
  int (*init)() = nullptr;
  int (*shutdown)() = nullptr;
  int (*by_index)(unsigned, Device*) = nullptr;
  int (*by_uuid)(const char*, Device*) = nullptr;
  int (*name)(Device, char*, unsigned) = nullptr;
  int (*uuid)(Device, char*, unsigned) = nullptr;
  int (*index)(Device, unsigned*) = nullptr;
  int (*utilisation)(Device, Utilisation*) = nullptr;
  int (*memory)(Device, Memory*) = nullptr;
  int (*power)(Device, unsigned*) = nullptr;
  int (*energy)(Device, unsigned long long*) = nullptr;
  int (*temperature)(Device, unsigned, unsigned*) = nullptr;
  int (*clock)(Device, unsigned, unsigned*) = nullptr;
  bool is_ready = false;

  ~Calls() {
    if (is_ready) shutdown();
    if (library != nullptr) ::dlclose(library);
  }
  template <class Function>
  bool Find(const char* symbol, Function& function) {
    function = reinterpret_cast<Function>(::dlsym(library, symbol));
    return function != nullptr;
  }
  // Those without which there is no device. What a driver lacks of the others is not told.
  bool Load(const std::string& file) {
    library = ::dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) return false;
    Find("nvmlDeviceGetName", name);
    Find("nvmlDeviceGetUUID", uuid);
    Find("nvmlDeviceGetIndex", index);
    Find("nvmlDeviceGetUtilizationRates", utilisation);
    Find("nvmlDeviceGetMemoryInfo", memory);
    Find("nvmlDeviceGetPowerUsage", power);
    Find("nvmlDeviceGetTotalEnergyConsumption", energy);
    Find("nvmlDeviceGetTemperature", temperature);
    Find("nvmlDeviceGetClockInfo", clock);
    Find("nvmlDeviceGetHandleByUUID", by_uuid);
    return Find("nvmlInit_v2", init) && Find("nvmlShutdown", shutdown) && Find("nvmlDeviceGetHandleByIndex_v2", by_index);
  }
};

Nvml::Nvml(std::unique_ptr<Calls> calls) : calls_(std::move(calls)) {}
Nvml::~Nvml() = default;

std::unique_ptr<Nvml> Nvml::Open(const std::string& library) {
  auto calls = std::make_unique<Calls>();
  if (!calls->Load(library) || calls->init() != kSuccess) return nullptr;
  calls->is_ready = true;
  std::unique_ptr<Nvml> nvml(new Nvml(std::move(calls)));
  const Calls& call = *nvml->calls_;
  const std::string_view visible = VisibleDevice();
  unsigned index = 0;
  std::from_chars(visible.data(), visible.data() + visible.size(), index);
  const bool by_uuid = visible.starts_with("GPU-") && call.by_uuid != nullptr;
  const int found = by_uuid ? call.by_uuid(std::string(visible).c_str(), &nvml->device_) : call.by_index(index, &nvml->device_);
  if (found != kSuccess) return nullptr;
  const auto text = [&](int (*function)(Device, char*, unsigned)) -> std::string {
    std::array<char, 97> buffer{};
    const bool told =
        function != nullptr && function(nvml->device_, buffer.data(), static_cast<unsigned>(buffer.size() - 1)) == kSuccess;
    return told ? buffer.data() : "";
  };
  GpuIdentity& identity = nvml->identity_;
  identity.name = text(call.name);
  if (identity.name.empty()) identity.name = "GPU";
  identity.uuid = text(call.uuid);
  if (unsigned number = 0; call.index != nullptr && call.index(nvml->device_, &number) == kSuccess) identity.index = number;
  if (Memory memory; call.memory != nullptr && call.memory(nvml->device_, &memory) == kSuccess)
    identity.memory_total = static_cast<std::int64_t>(memory.total);
  return nvml;
}

GpuFigures Nvml::Read() const {
  GpuFigures figures;
  if (Utilisation rates; calls_->utilisation != nullptr && calls_->utilisation(device_, &rates) == kSuccess)
    figures.utilisation = rates.gpu;
  if (Memory memory; calls_->memory != nullptr && calls_->memory(device_, &memory) == kSuccess)
    figures.memory = static_cast<std::int64_t>(memory.used);
  if (unsigned power = 0; calls_->power != nullptr && calls_->power(device_, &power) == kSuccess) figures.power_mw = power;
  if (unsigned long long energy = 0; calls_->energy != nullptr && calls_->energy(device_, &energy) == kSuccess)
    figures.energy_mj = static_cast<std::int64_t>(energy);
  if (unsigned degrees = 0;
      calls_->temperature != nullptr && calls_->temperature(device_, kTemperatureGpu, &degrees) == kSuccess)
    figures.temperature = degrees;
  if (unsigned clock = 0; calls_->clock != nullptr && calls_->clock(device_, kClockSm, &clock) == kSuccess)
    figures.clock_mhz = clock;
  return figures;
}

}  // namespace assay::monitor
