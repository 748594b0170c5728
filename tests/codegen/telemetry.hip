// SPDX-License-Identifier: MIT
// H30: telemetry that is off adds no instruction: with WITHOUT_TELEMETRY this file calls the functions that know nothing of
// it, and telemetry_off.sh wants the same assembly either way. Steps counts in registers: see budgets.cmake.

#include <xio/device/nvme.hpp>

using namespace xio;

extern "C" __global__ void post(nvme::QueueHandle handle, uint64_t lba, uint64_t bus, Token* token) {
  nvme::Queue<Sharing::wave, Latency> queue(handle);
#if defined(WITHOUT_TELEMETRY)
  *token = queue.submit(nvme::read(lba, 8), nvme::ContiguousPages{bus});
#else
  telemetry::Off off;
  *token = queue.submit(nvme::read(lba, 8), nvme::ContiguousPages{bus}, Now{}, off);
#endif
}

extern "C" __global__ void wait(nvme::QueueHandle handle, Token token, Status* status) {
  nvme::Queue<Sharing::grid> queue(handle);
#if defined(WITHOUT_TELEMETRY)
  *status = queue.wait(token, deadline(1_ms));
#else
  telemetry::Off off;
  *status = queue.wait(token, deadline(1_ms), off);
#endif
}

#if !defined(WITHOUT_TELEMETRY)
extern "C" __global__ void steps(nvme::QueueHandle handle, uint64_t lba, uint64_t bus, uint32_t count,
                                 telemetry::Steps* result) {
  nvme::Queue<Sharing::thread, Unchecked> queue(handle);
  auto session = queue.session();
  telemetry::Steps steps;
  for (uint32_t i = 0; i < count; ++i) {
    session.submit(nvme::read(lba + i * 8, 8), nvme::DataPointer{bus}, Now{}, steps);
  }
  session.end();
  *result = steps;
}
#endif
