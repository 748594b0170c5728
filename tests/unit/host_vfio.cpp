// SPDX-License-Identifier: MIT

/// @file
/// @brief The vfio transport against a kernel that is played: what it asks for, in which order, what it makes of the
/// answers, and that nothing is left behind.

#include <sys/mman.h>

#include <algorithm>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include <xio/host/nvme/controller.hpp>
#include <xio/host/nvme/vfio.hpp>

#include "catch.hpp"
#include "unit/host_fake_vfio.hpp"
#include "unit/host_support.hpp"

using namespace xio::host;
using host_tests::contains;
using host_tests::error_of;
using host_tests::FakeVfio;

namespace {

using Log = std::vector<std::string>;

VfioOptions small_options() {
  VfioOptions options = parse_vfio_spec("vfio:04:00.0");
  options.dma_bytes = 1 << 20;
  return options;
}

std::string refusal(const std::shared_ptr<FakeVfio>& kernel, const VfioOptions& options = small_options()) {
  return error_of([&] { VfioNvme(options, kernel); });
}

/// Memory of whole pages, as a caller would bring it.
struct Pages {
  explicit Pages(size_t wanted) : bytes(wanted) {
    data = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  }
  Pages(const Pages&) = delete;
  Pages& operator=(const Pages&) = delete;
  ~Pages() { ::munmap(data, bytes); }
  size_t bytes;
  void* data;
};

}  // namespace

TEST_CASE("a controller is described by its address and options", "[host][vfio]") {
  const VfioOptions plain = parse_vfio_spec("vfio:0000:04:00.0");
  CHECK(plain.address == "0000:04:00.0");
  CHECK(plain.dma_bytes == size_t{64} << 20);
  CHECK(plain.interface == VfioInterface::automatic);
  const VfioOptions all = parse_vfio_spec("vfio:AF:1F.7,dma=12M,huge=2M,interface=iommufd");
  CHECK(all.address == "0000:af:1f.7");
  CHECK(all.dma_bytes == size_t{12} << 20);
  CHECK(all.huge_pages == HugePages::mib2);
  CHECK(all.interface == VfioInterface::iommufd);

  // Domains that the kernel invents, as for Intel's VMD, have five digits or more.
  CHECK(parse_vfio_spec("vfio:10000:e1:00.0,dma=12M").address == "10000:e1:00.0");
  CHECK(parse_vfio_spec("vfio:ABCDEF01:00:1f.7").address == "abcdef01:00:1f.7");
  CHECK(parse_vfio_spec("vfio:00000000:04:00.0").address == "0000:04:00.0");
  CHECK(parse_vfio_spec("vfio:00010000:04:00.0").address == "10000:04:00.0");

  const auto complaint = [](const std::string& spec) { return error_of([&] { parse_vfio_spec(spec); }); };
  for (const char* wrong : {"vfio:10000:04:20.0", "vfio:10000:04:00.8", "vfio:1g000:04:00.0", "vfio:100000000:04:00.0",
                            "vfio:000:04:00.0", "vfio:10000:4:00.0", "vfio:", "vfio:nvme0", "vfio:04:20.0",
                            "vfio:04:00.8", "vfio:4:0.0", "vfio:0000:04:00:0", "vfio:dma=1M", "vfio:0000:04:00.0 "})
    CHECK(contains(complaint(wrong), "is not a PCI address"));
  CHECK(contains(complaint("vfio"), "not of the form vfio:BDF[,key=value,...]"));
  CHECK(contains(complaint("vfio:04:00.0,"), "nothing follows the last comma"));
  CHECK(contains(complaint("vfio:04:00.0,dma=1M,"), "nothing follows the last comma"));
  CHECK(contains(complaint("vfio:04:00.0,dma"), "'dma' is not of the form key=value"));
  CHECK(contains(complaint("vfio:04:00.0,dma="), "dma needs a value"));
  CHECK(contains(complaint("vfio:04:00.0,dma=1M,dma=1M"), "dma is given twice"));
  CHECK(contains(complaint("vfio:04:00.0,dma=1K"), "a number from 1048576"));
  CHECK(contains(complaint("vfio:04:00.0,huge=4M"), "accepted: no, auto, 2M, 1G"));
  CHECK(contains(complaint("vfio:04:00.0,lba=512"), "unknown key 'lba'; known: dma, huge, interface"));
}

TEST_CASE("a group is taken, used and given back in order", "[host][vfio]") {
  const auto kernel = std::make_shared<FakeVfio>();
  kernel->set_bar(0x1c, 0xffffffff);
  {
    VfioNvme nvme(small_options(), kernel);
    CHECK(kernel->log == Log{"open /dev/vfio/vfio", "version", "extension", "open /dev/vfio/14", "status",
                             "set container", "set iommu", "info", "info", "device", "map", "event", "event"});
    CHECK(contains(nvme.description(), "0000:04:00.0 by vfio (IOMMU group 14)"));
    CHECK((kernel->command() & 6) == 6);

    // Registers, in halves of 32 bits; doorbells are the registers themselves.
    nvme.write64(0x28, 0x1122334455667788);
    CHECK(kernel->bar(0x28) == 0x55667788);
    CHECK(kernel->bar(0x2c) == 0x11223344);
    CHECK(nvme.read64(0x28) == 0x1122334455667788);
    CHECK(nvme.read32(0x1c) == 0xffffffff);
    nvme.doorbell_words()[3] = 17;
    CHECK(kernel->bar(0x100c) == 17);
    nvme.open_doorbell(3 * 1024 - 1);
    CHECK(contains(error_of([&] { nvme.open_doorbell(3 * 1024); }), "beyond the 12288 bytes of doorbells"));
    CHECK(contains(error_of([&] { nvme.read32(FakeVfio::bar_bytes); }), "beyond the end of BAR0"));

    // One mapping for everything.
    REQUIRE(kernel->mapped.size() == 1);
    const auto [base, bytes] = *kernel->mapped.begin();
    CHECK(bytes == 1 << 20);
    CHECK(base >= 1 << 20);
    const DmaBuffer one = nvme.allocate(100, 64);
    const DmaBuffer two = nvme.allocate(4096, 4096);
    CHECK(two.bus() % 4096 == 0);
    for (const DmaBuffer* buffer : {&one, &two}) {
      CHECK(buffer->bus() >= base);
      CHECK(buffer->bus() + buffer->size() <= base + bytes);
      CHECK(static_cast<unsigned char*>(buffer->data()) - nvme.dma_window().data() ==
            static_cast<std::ptrdiff_t>(buffer->bus() - base));
    }
    CHECK(kernel->mapped_data.begin()->second == nvme.dma_window().data());
    CHECK(kernel->mapped.size() == 1);
    CHECK(contains(error_of([&] { nvme.allocate(2 << 20, 64); }), "raise dma="));
    // Somebody leaves the controller enabled.
    kernel->set_bar(0x14, 0x460001);
    kernel->log.clear();
  }
  CHECK(kernel->log == Log{"unmap", "unset container"});
  CHECK((kernel->bar(0x14) & 1) == 0);
  CHECK((kernel->command() & 4) == 0);
  CHECK_FALSE(kernel->mastering_at_unmap);
  CHECK(kernel->mapped.empty());
}

TEST_CASE("bus addresses are those that the IOMMU allows", "[host][vfio]") {
  const auto kernel = std::make_shared<FakeVfio>();
  SECTION("the first range is too short") {
    kernel->ranges = {{0, 0x17ffff}, {0x8000800, 0x80ff7ff}, {0x40000000, 0x400fffff}, {0x50000000, 0x5fffffff}};
    const VfioNvme nvme(small_options(), kernel);
    CHECK(kernel->mapped.begin()->first == 0x40000000);
  }
  SECTION("nothing below 1 MiB") {
    const VfioNvme nvme(small_options(), kernel);
    CHECK(kernel->mapped.begin()->first == 1 << 20);
  }
  SECTION("the whole of 64 bits") {
    kernel->ranges = {{0xffffffffffe00000, ~uint64_t{0}}};
    const VfioNvme nvme(small_options(), kernel);
    CHECK(kernel->mapped.begin()->first == 0xffffffffffe00000);
  }
  SECTION("an IOMMU of smaller pages than the CPU's") {
    kernel->page_sizes = ~uint64_t{0x1ff};
    kernel->ranges = {{0x40000200, 0x4fffffff}};
    const VfioNvme nvme(small_options(), kernel);
    CHECK(kernel->mapped.begin()->first == 0x40001000);
  }
  SECTION("an old kernel does not tell") {
    kernel->iova_capability = false;
    const VfioNvme nvme(small_options(), kernel);
    CHECK(kernel->mapped.size() == 1);
  }
  SECTION("no room") {
    kernel->ranges = {{0, 0x17ffff}};
    CHECK(contains(refusal(kernel), "the IOMMU has no 1048576 bus addresses in one piece"));
    CHECK(kernel->mapped.empty());
  }
  SECTION("an answer that claims more than it has") {
    kernel->told_ranges = 1000000;
    const VfioNvme nvme(small_options(), kernel);
    CHECK(kernel->mapped.begin()->first == 1 << 20);
  }
}

TEST_CASE("memory of the caller's is mapped until its buffer ends", "[host][vfio]") {
  const auto kernel = std::make_shared<FakeVfio>();
  const Pages pages(3 * 4096);
  auto nvme = std::make_unique<VfioNvme>(small_options(), kernel);
  const auto owner = std::make_shared<int>(1);
  {
    const DmaBuffer buffer = nvme->map(pages.data, pages.bytes, owner);
    CHECK(kernel->mapped.at(buffer.bus()) == pages.bytes);
    CHECK(kernel->mapped_data.at(buffer.bus()) == pages.data);
    CHECK(owner.use_count() == 2);
    CHECK(contains(error_of([&] { nvme->map(static_cast<char*>(pages.data) + 512, 4096); }), "multiples of 4096"));
    CHECK(contains(error_of([&] { nvme->map(pages.data, 100); }), "multiples of 4096"));
  }
  CHECK(kernel->mapped.size() == 1);
  CHECK(owner.use_count() == 1);

  // What another driver has mapped may be no memory to the kernel.
  kernel->ioctl_errors[VFIO_IOMMU_MAP_DMA] = EFAULT;
  CHECK(contains(error_of([&] { nvme->map_memory(pages.data, pages.bytes, owner); }),
                 "iommufd does not map memory of other drivers, such as a GPU's; interface=group may"));
  kernel->ioctl_errors.clear();

  // Addresses that the kernel did not take back are not used again.
  DmaBuffer stuck = nvme->map(pages.data, 4096);
  const uint64_t lost = stuck.bus();
  kernel->ioctl_errors[VFIO_IOMMU_UNMAP_DMA] = EIO;
  stuck = DmaBuffer();
  kernel->ioctl_errors.clear();
  DmaBuffer next = nvme->map(pages.data, 4096);
  CHECK(next.bus() != lost);

  // A buffer that outlives the transport, which has taken everything back.
  nvme.reset();
  CHECK(kernel->mapped.count(next.bus()) == 0);
  kernel->log.clear();
  next = DmaBuffer();
  CHECK(kernel->log.empty());
}

TEST_CASE("registers may be mapped in parts", "[host][vfio]") {
  const auto kernel = std::make_shared<FakeVfio>();
  SECTION("doorbells alone") {
    kernel->sparse = {{0x1000, 0x1000}, {0x3000, 0x1000}, {0x2000, 0xffffffff000}};
    kernel->set_bar(0x08, 0x00010400);
    VfioNvme nvme(small_options(), kernel);
    CHECK(nvme.read32(0x08) == 0x00010400);
    nvme.write32(0x24, 0x1f001f);
    CHECK(kernel->bar(0x24) == 0x1f001f);
    nvme.doorbell_words()[1023] = 5;
    CHECK(kernel->bar(0x1ffc) == 5);
    CHECK(contains(error_of([&] { nvme.open_doorbell(1024); }), "beyond the 4096 bytes"));
  }
  SECTION("all but doorbells") {
    kernel->sparse = {{0, 0x1000}, {0x2000, 0x1000}};
    CHECK(contains(refusal(kernel), "does not allow mapping this controller's doorbells"));
  }
  SECTION("none") {
    kernel->mappable = false;
    CHECK(contains(refusal(kernel), "does not allow mapping this controller's doorbells"));
  }
  CHECK(kernel->mapped.empty());
}

TEST_CASE("what stands in the way is said, with the way out", "[host][vfio]") {
  const auto kernel = std::make_shared<FakeVfio>();
  VfioOptions options = small_options();
  SECTION("not there") {
    options.address = "0000:05:00.0";
    CHECK(contains(refusal(kernel, options), "0000:05:00.0 does not exist"));
  }
  SECTION("another class") {
    kernel->add_function("0000:05:00.0", "0x020000", "vfio-pci", "15");
    options.address = "0000:05:00.0";
    CHECK(contains(refusal(kernel, options), "is no NVMe controller: its class is 0x020000"));
  }
  SECTION("the kernel's driver") {
    kernel->set_driver(FakeVfio::address, "nvme");
    CHECK(contains(refusal(kernel), "is bound to the driver nvme; give it to vfio-pci: scripts/xio-bind bind 0000:04"));
  }
  SECTION("no driver") {
    kernel->set_driver(FakeVfio::address, "");
    CHECK(contains(refusal(kernel), "has no driver; give it to vfio-pci"));
  }
  SECTION("no IOMMU") {
    kernel->add_function("0000:05:00.0", "0x010802", "vfio-pci", "");
    options.address = "0000:05:00.0";
    CHECK(contains(refusal(kernel, options), "has no IOMMU group: switch VT-d or AMD-Vi on"));
  }
  SECTION("no IOMMU behind the group") {
    std::ofstream(kernel->folder() + "/iommu_group/name") << "vfio-noiommu\n";
    CHECK(contains(refusal(kernel), "has no IOMMU behind it (enable_unsafe_noiommu_mode)"));
  }
  SECTION("no module") {
    kernel->open_errors["/dev/vfio/vfio"] = ENOENT;
    CHECK(contains(refusal(kernel), "/dev/vfio/vfio cannot be opened: it does not exist; load the driver"));
  }
  SECTION("not permitted") {
    kernel->open_errors["/dev/vfio/14"] = EACCES;
    CHECK(contains(refusal(kernel), "run as root, or let your user in: scripts/xio-bind udev 0000:04:00.0"));
  }
  SECTION("in use") {
    kernel->open_errors["/dev/vfio/14"] = EBUSY;
    CHECK(contains(refusal(kernel), "another process uses 0000:04:00.0"));
  }
  SECTION("no type 1") {
    kernel->type1 = false;
    CHECK(contains(refusal(kernel), "modprobe vfio_iommu_type1"));
  }
  SECTION("neighbours") {
    kernel->viable = false;
    kernel->add_function("0000:04:00.1", "0x040300", "snd_hda_intel", "14");
    kernel->add_function("0000:04:00.2", "0x010802", "vfio-pci", "14");
    kernel->add_function("0000:04:00.3", "0x0c0330", "", "14");
    CHECK(contains(refusal(kernel), "other drivers hold parts of it: 0000:04:00.1 (snd_hda_intel);"));
  }
  SECTION("no interrupt remapping") {
    kernel->ioctl_errors[VFIO_SET_IOMMU] = EPERM;
    CHECK(contains(refusal(kernel), "allow_unsafe_interrupts=1"));
  }
  SECTION("memory of the firmware") {
    kernel->ioctl_errors[VFIO_SET_IOMMU] = EBUSY;
    CHECK(contains(refusal(kernel), "(RMRR)"));
  }
  SECTION("no device") {
    kernel->ioctl_errors[VFIO_GROUP_GET_DEVICE_FD] = ENODEV;
    CHECK(contains(refusal(kernel), "returns no descriptor of 0000:04:00.0"));
  }
  SECTION("locked memory") {
    kernel->ioctl_errors[VFIO_IOMMU_MAP_DMA] = ENOMEM;
    CHECK(contains(refusal(kernel), "cannot map 1024 KiB of memory for the controller"));
  }
  SECTION("no PCI device") {
    kernel->device_flags = VFIO_DEVICE_FLAGS_PLATFORM;
    CHECK(contains(refusal(kernel), "this is no PCI device"));
  }
  CHECK(kernel->mapped.empty());
}

TEST_CASE("a device that the kernel wants back, or that is gone, is answered", "[host][vfio]") {
  const auto kernel = std::make_shared<FakeVfio>();
  auto nvme = std::make_unique<VfioNvme>(small_options(), kernel);
  CHECK(nvme->alive());
  SECTION("unplugged in good order") {
    kernel->signal(VFIO_PCI_REQ_IRQ_INDEX);
    CHECK_FALSE(nvme->alive());
    CHECK_FALSE(nvme->alive());
    // It still obeys, and must be given back as usual.
    kernel->set_bar(0x14, 1);
    nvme.reset();
    CHECK((kernel->bar(0x14) & 1) == 0);
  }
  SECTION("an error of the bus; a reset helps") {
    kernel->signal(VFIO_PCI_ERR_IRQ_INDEX);
    CHECK_FALSE(nvme->alive());
    CHECK(nvme->reset_device());
    CHECK(nvme->alive());
    CHECK((kernel->command() & 6) == 6);
  }
  SECTION("removed by surprise") {
    for (const uint32_t offset : {0x00u, 0x04u, 0x08u, 0x14u, 0x1cu}) kernel->set_bar(offset, 0xffffffff);
    const std::string message = error_of([&] { NvmeController controller(std::move(nvme)); });
    CHECK(contains(message, "does not respond: registers read as all ones"));
  }
  SECTION("access revoked") {
    kernel->revoke();
    CHECK(contains(error_of([&] { nvme->reset_device(); }), "the kernel does not read its configuration: it is gone"));
    nvme.reset();
  }
  SECTION("unmapping fails, too") {
    kernel->ioctl_errors = {{VFIO_IOMMU_UNMAP_DMA, EIO}, {VFIO_GROUP_UNSET_CONTAINER, EIO}};
    nvme.reset();
    CHECK((kernel->command() & 4) == 0);
  }
}

TEST_CASE("a device without a reset says so", "[host][vfio]") {
  const auto kernel = std::make_shared<FakeVfio>();
  kernel->device_flags = VFIO_DEVICE_FLAGS_PCI;
  VfioNvme nvme(small_options(), kernel);
  CHECK_FALSE(nvme.reset_device());
  CHECK(std::count(kernel->log.begin(), kernel->log.end(), "reset") == 0);
}

TEST_CASE("iommufd serves as well", "[host][vfio]") {
  const auto kernel = std::make_shared<FakeVfio>();
  VfioOptions options = small_options();
  kernel->add_character_device();
  SECTION("asked for") { options.interface = VfioInterface::iommufd; }
  SECTION("the only one") { kernel->groups = false; }
  {
    VfioNvme nvme(options, kernel);
    CHECK(kernel->log == Log{"open /dev/iommu", "open /dev/vfio/devices/vfio3", "bind", "allocate", "attach", "ranges",
                             "ranges", "iommufd map", "event", "event"});
    CHECK(contains(nvme.description(), "iommufd, vfio3"));
    CHECK(kernel->mapped.begin()->first == 1 << 20);
    nvme.doorbell_words()[2] = 9;
    CHECK(kernel->bar(0x1008) == 9);
    const Pages pages(4096);
    const DmaBuffer buffer = nvme.map(pages.data, 4096);
    CHECK(kernel->mapped.size() == 2);
    kernel->log.clear();
  }
  CHECK(kernel->log == Log{"iommufd unmap", "iommufd unmap", "detach", "destroy"});
  CHECK_FALSE(kernel->mastering_at_unmap);
  CHECK(kernel->mapped.empty());
}

TEST_CASE("what stands in the way of iommufd is said", "[host][vfio]") {
  const auto kernel = std::make_shared<FakeVfio>();
  VfioOptions options = small_options();
  options.interface = VfioInterface::iommufd;
  CHECK(contains(refusal(kernel, options), "has no character device: this kernel has no VFIO_DEVICE_CDEV"));
  kernel->add_character_device();
  SECTION("no iommufd") {
    kernel->open_errors["/dev/iommu"] = ENOENT;
    CHECK(contains(refusal(kernel, options), "/dev/iommu cannot be opened: it does not exist"));
  }
  SECTION("in use") {
    kernel->ioctl_errors[host_tests::iommufd::bind_request] = EINVAL;
    CHECK(contains(refusal(kernel, options), "another process uses 0000:04:00.0"));
  }
  SECTION("in use by its group") {
    kernel->ioctl_errors[host_tests::iommufd::bind_request] = EBUSY;
    CHECK(contains(refusal(kernel, options), "another process uses its IOMMU group through /dev/vfio/14"));
  }
  SECTION("interrupts that are not remapped, or somebody else's device in the group") {
    kernel->ioctl_errors[host_tests::iommufd::bind_request] = EPERM;
    kernel->add_function("0000:04:00.2", "0x010802", "vfio-pci", "14");
    kernel->add_function("0000:03:00.0", "0x060400", "pcieport", "14");
    CHECK(contains(refusal(kernel, options), "another process uses a device of its group, or interrupts"));
  }
  SECTION("another driver's device in the group") {
    kernel->ioctl_errors[host_tests::iommufd::bind_request] = EPERM;
    kernel->add_function("0000:04:00.1", "0x040300", "snd_hda_intel", "14");
    CHECK(contains(refusal(kernel, options), "other drivers hold parts of it: 0000:04:00.1 (snd_hda_intel);"));
  }
  SECTION("no address space") {
    kernel->ioctl_errors[host_tests::iommufd::attach_request] = EINVAL;
    CHECK(contains(refusal(kernel, options), "cannot get an IOMMU address space"));
  }
  SECTION("no ranges") {
    kernel->ioctl_errors[host_tests::iommufd::ranges_request] = ENOTTY;
    CHECK(contains(refusal(kernel, options), "does not report its address ranges"));
  }
  CHECK(kernel->mapped.empty());
}
