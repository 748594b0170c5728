// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief Register of an idle NVMe controller on which a register mapping is probed.

#include <xio/config.hpp>
#include <xio/host/error.hpp>
#include <xio/host/memory/doorbell_probe.hpp>
#include <xio/host/nvme/transport.hpp>
#include <xio/vendors/nvme/registers.hpp>

XIO_NAMESPACE_BEGIN

namespace host {
/// @addtogroup host_nvme
/// @{

/// Probe for a disabled NVMe controller: the admin queue sizes (AQA), which have no effect until CC.EN is set.
class IdleControllerProbe final : public DoorbellProbe {
 public:
  /// Throws Error if the controller is enabled, or not idle yet.
  /// @param transport  must outlive the probe; its registers begin at offset 0 of BAR0
  explicit IdleControllerProbe(NvmeTransport& transport) : transport_(transport) {
    const nvme::Cc cc{transport.read32(nvme::reg::cc)};
    const nvme::Csts csts{transport.read32(nvme::reg::csts)};
    if (csts.gone() || cc.en() || csts.rdy())
      throw Error(transport.description() + (csts.gone() ? " is gone" : " is enabled") +
                  ": doorbells can be probed only while it is disabled");
    before_ = transport.read32(nvme::reg::aqa);
  }

  uint64_t offset() const override { return nvme::reg::aqa; }
  uint32_t value(uint32_t attempt) const override {
    // Sizes are 12 bits each; other bits may read as zero.
    const uint32_t size = 3 + attempt;
    return (before_ & 0xfff) == size ? nvme::Aqa::of(65, 65).raw : nvme::Aqa::of(size + 1, size + 1).raw;
  }
  uint32_t read() override { return transport_.read32(nvme::reg::aqa); }
  void restore() override { transport_.write32(nvme::reg::aqa, before_); }

 private:
  NvmeTransport& transport_;
  uint32_t before_ = 0;
};

/// @}
}  // namespace host

XIO_NAMESPACE_END
