// SPDX-License-Identifier: MIT
// H30: telemetry that is off adds no instruction: with WITHOUT_TELEMETRY the kernels get a type that does nothing by its own
// definition, and telemetry_off.sh wants the same instructions either way. Where a wait calls the drain, it does so only
// for telemetry::Off: there the kernels differ by what is passed, Off or nothing. What the drain itself does is compared
// where it is part of the kernel. Steps counts in registers: see budgets.cmake.

#include <xio/device/nvme/queue.hpp>

using namespace xio;

#if defined(WITHOUT_TELEMETRY)
struct Meter {
  XIO_HOST_DEVICE static constexpr uint64_t start() { return 0; }
  XIO_HOST_DEVICE static constexpr void stop(telemetry::Step, uint64_t) {}
};
#else
using Meter = telemetry::Off;
#endif

extern "C" __global__ void post(nvme::QueueHandle handle, uint64_t lba, uint64_t bus, Token* token) {
  nvme::Queue<Sharing::wave, xio::Policy<>> queue(handle);
  Meter meter;
  *token = queue.submit(nvme::read(lba, 8), nvme::ContiguousPages{bus}, Now{}, Options().measure(meter));
}

extern "C" __global__ void wait(nvme::QueueHandle handle, Token token, Status* status) {
  nvme::Queue<Sharing::grid> queue(handle);
#if defined(WITHOUT_TELEMETRY)
  *status = queue.wait(token, deadline(1_ms));
#else
  telemetry::Off off;
  *status = queue.wait(token, deadline(1_ms), Options().measure(off));
#endif
}

extern "C" __global__ void wait_in_session(nvme::QueueHandle handle, Token token, Status* status) {
  auto session = nvme::Queue<Sharing::wave>(handle).session();
  Meter meter;
  *status = session.wait(token, deadline(1_ms), Options().measure(meter));
  session.end();
}

extern "C" __global__ void take(nvme::QueueHandle handle, uint32_t* taken) {
  nvme::Queue<Sharing::grid> queue(handle);
  Meter meter;
  *taken = queue.drain(Options().measure(meter));
}

#if !defined(WITHOUT_TELEMETRY)
extern "C" __global__ void steps(nvme::QueueHandle handle, uint64_t lba, uint64_t bus, uint32_t count,
                                 telemetry::Steps* result) {
  nvme::Queue<Sharing::thread, Unchecked> queue(handle);
  auto session = queue.session();
  telemetry::Steps steps;
  for (uint32_t i = 0; i < count; ++i) {
    (void)session.submit(nvme::read(lba + i * 8, 8), nvme::DataPointer{bus}, Now{}, Options().measure(steps));
  }
  session.end();
  *result = steps;
}
#endif
