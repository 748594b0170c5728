// SPDX-License-Identifier: MIT

/// @file
/// @brief Sharing a controller with the kernel's driver, which is played: every field of every admin command, every
/// refusal, and what is done about queues that somebody left behind.

#include <sys/file.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdarg>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include <xio/host/nvme/controller.hpp>
#include <xio/host/nvme/kernel_shared.hpp>

#include "catch.hpp"
#include "skip.hpp"
#include "unit/host_fake_driver.hpp"
#include "unit/host_shared_controller.hpp"
#include "unit/host_support.hpp"

using namespace xio::host;
using host_tests::contains;
using host_tests::error_of;
using host_tests::FakeDriver;
using host_tests::leave_behind;
using host_tests::make_shared_controller;
using host_tests::shared_options;
using host_tests::shared_refusal;
using xio::nvme::AdminOpcode;

namespace {

/// The driver that libnvme's calls go to.
FakeDriver* library_driver = nullptr;

/// All fields but those that are given must be 0.
void check_command(const nvme_passthru_cmd& seen, AdminOpcode opcode, const void* data, uint32_t cdw10 = 0,
                   uint32_t cdw11 = 0, uint32_t nsid = 0) {
  INFO("opcode " << static_cast<unsigned>(opcode));
  CHECK(seen.opcode == static_cast<uint8_t>(opcode));
  CHECK(seen.flags == 0);
  CHECK(seen.rsvd1 == 0);
  CHECK(seen.nsid == nsid);
  CHECK(seen.cdw2 == 0);
  CHECK(seen.cdw3 == 0);
  CHECK(seen.metadata == 0);
  CHECK(seen.metadata_len == 0);
  CHECK(seen.addr == reinterpret_cast<uintptr_t>(data));
  CHECK(seen.data_len == (data == nullptr ? 0 : 4096));
  CHECK(seen.cdw10 == cdw10);
  CHECK(seen.cdw11 == cdw11);
  CHECK(seen.cdw12 == 0);
  CHECK(seen.cdw13 == 0);
  CHECK(seen.cdw14 == 0);
  CHECK(seen.cdw15 == 0);
  CHECK(seen.timeout_ms == 0);
  CHECK(seen.result == 0);
}

}  // namespace

/// Takes the place of the C library's for libnvme, which is loaded by this program.
extern "C" int ioctl(int fd, unsigned long request, ...) noexcept {
  va_list rest;
  va_start(rest, request);
  void* const argument = va_arg(rest, void*);
  va_end(rest);
  if (library_driver != nullptr && library_driver->is_node(fd))
    return library_driver->ioctl(fd, request, reinterpret_cast<uintptr_t>(argument));
  return static_cast<int>(::syscall(SYS_ioctl, fd, request, argument));
}

TEST_CASE("a shared controller is described by a path and options", "[host][kernel_shared]") {
  const KernelSharedOptions plain = parse_kernel_shared_spec("/dev/nvme0");
  CHECK(plain.path == "/dev/nvme0");
  CHECK(plain.dma_bytes == size_t{16} << 20);
  CHECK_FALSE(plain.read_mounted);
  CHECK(plain.passthrough == Passthrough::automatic);
  const KernelSharedOptions all = parse_kernel_shared_spec("/dev/disk/by-id/x,dma=2M,mounted=read,passthrough=libnvme");
  CHECK(all.path == "/dev/disk/by-id/x");
  CHECK(all.dma_bytes == size_t{2} << 20);
  CHECK(all.read_mounted);
  CHECK(all.passthrough == Passthrough::libnvme);

  const auto complaint = [](const std::string& spec) { return error_of([&] { parse_kernel_shared_spec(spec); }); };
  CHECK(contains(complaint("nvme0"), "not of the form /dev/nvmeN[,key=value,...]"));
  CHECK(contains(complaint("/dev/nvme0,"), "nothing follows the last comma"));
  CHECK(contains(complaint("/dev/nvme0,dma"), "'dma' is not of the form key=value"));
  CHECK(contains(complaint("/dev/nvme0,dma=1K"), "a number from 1048576"));
  CHECK(contains(complaint("/dev/nvme0,mounted=write"), "accepted: refuse, read"));
  CHECK(contains(complaint("/dev/nvme0,passthrough=x"), "accepted: auto, libnvme, ioctl"));
  CHECK(contains(complaint("/dev/nvme0,huge=2M"), "unknown key 'huge'; known: dma, mounted, passthrough"));
}

TEST_CASE("queues are created and deleted by admin commands, field by field", "[host][kernel_shared]") {
  const auto kernel = std::make_shared<FakeDriver>();
  const bool by_library = GENERATE(false, true);
  KernelSharedOptions options = shared_options();
  if (by_library) {
    options.passthrough = Passthrough::libnvme;
    try {
      detail::LibnvmePassthrough();
    } catch (const Error&) {
      xio_tests::skip("libnvme is not installed (Debian: libnvme1)");
      return;
    }
    library_driver = kernel.get();
  }
  {
    auto transport = std::make_unique<KernelSharedNvme>(options, kernel);
    KernelSharedNvme* const shared = transport.get();
    CHECK(contains(shared->description(),
                   std::string("0000:04:00.0 beside the kernel (nvme0, ") + (by_library ? "libnvme" : "ioctl") + ")"));
    CHECK(shared->writable());
    REQUIRE(shared->one_namespace());
    CHECK(shared->one_namespace()->nsid == 1);
    REQUIRE(kernel->commands.size() == 2);
    check_command(kernel->commands[0], AdminOpcode::identify,
                  reinterpret_cast<void*>(static_cast<uintptr_t>(kernel->commands[0].addr)), 1);
    CHECK(kernel->commands[0].addr % 4096 == 0);
    check_command(kernel->commands[1], AdminOpcode::get_features, nullptr, 7);

    NvmeController controller(std::move(transport));
    CHECK(controller.info().model == "a shared model");
    CHECK(controller.granted_queues() == 56);
    CHECK(controller.queue_ids().first == 9);
    CHECK(controller.queue_ids().last == 64);
    CHECK(controller.page_bytes() == 4096);
    // The registers are the kernel's to write, and are read from the mapping.
    CHECK(kernel->bar(0x14) == 0x00460001);
    CHECK(controller.status().rdy());
    CHECK(contains(error_of([&] { shared->write32(0x14, 0); }), "only the kernel's driver may write"));
    CHECK(contains(error_of([&] { shared->write64(0x28, 0); }), "only the kernel's driver may write"));
    CHECK(contains(error_of([&] { controller.request_event(); }), "events go to the kernel's driver"));
    CHECK(contains(error_of([&] { controller.enable_shadow_doorbells(); }), "no shadow doorbells"));

    kernel->commands.clear();
    QueueOptions wanted;
    wanted.sq_entries = 64;
    wanted.cq_entries = 256;
    wanted.depth = 63;
    NvmeQueue queue = controller.create_queue(wanted);
    CHECK(queue.qid() == 64);
    const xio::nvme::QueueHandle handle = queue.handle();
    REQUIRE(kernel->commands.size() == 3);
    CHECK(kernel->commands[0].nsid == 1);
    check_command(kernel->commands[1], AdminOpcode::create_io_cq, handle.cq, 255u << 16 | 64, 1);
    check_command(kernel->commands[2], AdminOpcode::create_io_sq, handle.sq, 63u << 16 | 64, 64u << 16 | 1);
    CHECK(reinterpret_cast<uintptr_t>(handle.cq) % 4096 == 0);
    // Doorbells are the registers themselves.
    *handle.sq_doorbell = 17;
    *handle.cq_doorbell = 23;
    CHECK(kernel->bar(0x1000 + 8 * 64) == 17);
    CHECK(kernel->bar(0x1000 + 8 * 64 + 4) == 23);
    CHECK(contains(error_of([&] { shared->open_doorbell(3 * 1024); }), "beyond the end of BAR0"));

    // Deleted by its end, SQ first.
    kernel->commands.clear();
    queue = NvmeQueue();
    REQUIRE(kernel->commands.size() == 2);
    check_command(kernel->commands[0], AdminOpcode::delete_io_sq, nullptr, 64);
    check_command(kernel->commands[1], AdminOpcode::delete_io_cq, nullptr, 64);

    // Other commands, with data and without; what the controller says is told.
    kernel->commands.clear();
    CHECK(controller.get_log_page(xio::nvme::LogId::error_information, 128).size() == 128);
    REQUIRE(kernel->commands.size() == 1);
    CHECK(kernel->commands[0].data_len == 128);
    CHECK(kernel->commands[0].nsid == 0xffffffff);
    CHECK(kernel->commands[0].cdw10 == (31u << 16 | 1));
    CHECK(controller.get_feature(xio::nvme::FeatureId::number_of_queues) == 0x3f003f);
    kernel->statuses[0x0a] = {0x4002};
    CHECK(contains(error_of([&] { controller.get_feature(xio::nvme::FeatureId::arbitration); }),
                   "Get Features failed: invalid field in command (status 0x002, do not retry)"));
    // The kernel maps as much as the command moves, and one of which that is not known is not passed on.
    const DmaBuffer pages = controller.allocate(16384);
    const xio::nvme::Command by_hand = xio::nvme::command(AdminOpcode::directive_receive).dword(10, 16384 / 4 - 1);
    kernel->commands.clear();
    CHECK(controller.admin(by_hand.moves(16384), {pages.bus()}).status.is_ok());
    REQUIRE(kernel->commands.size() == 1);
    CHECK(kernel->commands[0].data_len == 16384);
    CHECK(contains(error_of([&] { controller.admin(by_hand, {pages.bus()}); }), "moves is not known"));
    CHECK(kernel->commands.size() == 1);
    const DmaBuffer page = controller.allocate(4096);
    for (const xio::nvme::DataPointer& wrong :
         {xio::nvme::DataPointer{0x1000, 0}, xio::nvme::DataPointer{page.bus(), page.bus()}})
      CHECK(contains(error_of([&] { controller.execute(xio::nvme::identify_controller(), wrong); }),
                     "one contiguous buffer of this controller's"));

    // Queues that are left at the end.
    queue = controller.create_queue();
    const NvmeQueue second = controller.create_queue();
    CHECK(second.qid() == 63);
    CHECK(kernel->queue_files().size() == 1);
    kernel->commands.clear();
    {
      const NvmeController ends = std::move(controller);
    }
    CHECK(kernel->of(AdminOpcode::delete_io_sq).size() == 2);
    CHECK(kernel->cqs.empty());
    CHECK(kernel->sqs.empty());
    CHECK_FALSE(queue.valid());
  }
  CHECK(kernel->queue_files().empty());
  library_driver = nullptr;
}

TEST_CASE("identifiers are probed from the top", "[host][kernel_shared]") {
  const auto kernel = std::make_shared<FakeDriver>();
  kernel->foreign = {64, 63, 40};
  NvmeController controller = make_shared_controller(kernel);
  CHECK(controller.create_queue().qid() == 62);
  QueueOptions wanted;
  wanted.qid = 40;
  CHECK(contains(error_of([&] { controller.create_queue(wanted); }),
                 "queue 40 is in use by another process or driver; choose another, or set qid = 0"));
  wanted.qid = 8;
  CHECK(contains(error_of([&] { controller.create_queue(wanted); }), "the controller granted queues 9 to 64"));
  wanted.qid = 65;
  CHECK(contains(error_of([&] { controller.create_queue(wanted); }), "the controller granted queues 9 to 64"));
  wanted.qid = 9;
  const NvmeQueue lowest = controller.create_queue(wanted);
  CHECK(lowest.qid() == 9);
  CHECK(contains(error_of([&] { controller.create_queue(wanted); }), "queue 9 exists already"));
  // A queue that was refused is nobody's to delete.
  kernel->commands.clear();
  {
    const NvmeController ends = std::move(controller);
  }
  REQUIRE(kernel->of(AdminOpcode::delete_io_sq).size() == 1);
  CHECK(kernel->of(AdminOpcode::delete_io_sq)[0].cdw10 == 9);
}

TEST_CASE("an SQ that is refused leaves no CQ behind", "[host][kernel_shared]") {
  const auto kernel = std::make_shared<FakeDriver>();
  NvmeController controller = make_shared_controller(kernel);
  kernel->statuses[0x01] = {0x4102};
  CHECK(contains(error_of([&] { controller.create_queue(); }), "Create I/O Submission Queue (queue 64"));
  CHECK(kernel->cqs.empty());
  CHECK(controller.create_queue().qid() == 64);
}

TEST_CASE("memory is huge pages by their physical addresses", "[host][kernel_shared]") {
  const auto kernel = std::make_shared<FakeDriver>();
  constexpr uint64_t page = FakeDriver::huge_page;
  KernelSharedOptions options = shared_options();
  options.dma_bytes = 5 * page;
  SECTION("in any order, two of them apart") {
    kernel->frames = {7, 3, 9, 2, 4};
    KernelSharedNvme nvme(options, kernel);
    // 2, 3 and 4 are neighbours.
    const DmaBuffer three = nvme.allocate(3 * page, 4096);
    CHECK(three.bus() == 2 * page);
    CHECK(three.bus_of(three.as<char>(3 * page - 1)) == 5 * page - 1);
    for (size_t i = 0; i < 3; ++i)
      CHECK((kernel->pagemap_entry(three.as<char>(i * page)) & 0xffffffff) * 4096 == (2 + i) * page);
    // The record is at the start of the file's first page.
    const DmaBuffer rest = nvme.allocate(page - 4096, 4096);
    CHECK(rest.bus() == 7 * page + 4096);
    const DmaBuffer last = nvme.allocate(page, page);
    CHECK(last.bus() == 9 * page);
    CHECK(reinterpret_cast<uintptr_t>(last.data()) % page == 0);
    CHECK(contains(error_of([&] { nvme.allocate(64, 64); }), "raise dma="));
  }
  SECTION("memory is zeroed, and comes back") {
    KernelSharedNvme nvme(options, kernel);
    for (int i = 0; i < 100; ++i) {
      const DmaBuffer buffer = nvme.allocate(page, 4096);
      CHECK(*buffer.as<uint64_t>(page - 8) == 0);
      *buffer.as<uint64_t>(page - 8) = 1;
      CHECK(nvme.dma_window().data() <= buffer.data());
    }
    CHECK(contains(error_of([&] { nvme.allocate(64, 4 * page); }), "the largest alignment is 2 MiB"));
    CHECK(contains(error_of([&] { nvme.allocate(0, 64); }), "a size of at least 1"));
  }
  SECTION("a buffer that outlives the transport") {
    DmaBuffer buffer;
    {
      KernelSharedNvme nvme(options, kernel);
      buffer = nvme.allocate(4096, 4096);
    }
    *buffer.as<uint64_t>() = 1;
    CHECK(kernel->queue_files().empty());
  }
}

TEST_CASE("what stands in the way of sharing is said, with the way out", "[host][kernel_shared]") {
  const auto kernel = std::make_shared<FakeDriver>();
  KernelSharedOptions options = shared_options();
  std::string expected;
  SECTION("not there") {
    options.path = "/dev/nvme9";
    expected = "/dev/nvme9 does not exist";
  }
  SECTION("another device") {
    options.path = "/dev/null";
    expected = "is neither a controller (/dev/nvme0) nor a whole namespace";
  }
  SECTION("a partition") {
    options.path = "/dev/nvme0n1p1";
    expected = "is neither a controller";
  }
  SECTION("a fabric") {
    kernel->set("/sys/class/nvme/nvme0/transport", "tcp");
    expected = "nvme0 is reached by tcp; only controllers on PCI Express can be shared";
  }
  SECTION("not root") {
    kernel->open_errors["/dev/nvme0"] = EACCES;
    expected = "/dev/nvme0 cannot be opened: run as root";
  }
  SECTION("a translating IOMMU") {
    kernel->set_domain("DMA-FQ");
    expected = "translates (domain DMA-FQ): boot with iommu=pt, or use vfio: scripts/xio-bind bind 0000:04:00.0";
  }
  SECTION("an IOMMU that says nothing") {
    kernel->set_domain("");
    expected = "translates (domain unknown)";
  }
  SECTION("mounted") {
    kernel->set("/proc/self/mountinfo", "30 1 259:0 / /srv rw,noatime shared:1 - ext4 /dev/nvme0n1 rw");
    expected = "nvme0 is in use: nvme0n1 is mounted on /srv; end that, or read only: " + options.path + ",mounted=read";
  }
  SECTION("a partition is mounted") {
    kernel->set("/proc/self/mountinfo", "30 1 259:1 / /srv rw,noatime shared:1 - ext4 /dev/nvme0n1p1 rw");
    expected = "nvme0 is in use: nvme0n1p1 is mounted on /srv";
  }
  SECTION("mounted with a number of its own") {
    kernel->set("/proc/self/mountinfo", "30 1 0:44 / /srv rw - btrfs " + std::string(FakeDriver::by_id) + " rw");
    expected = "nvme0 is in use: nvme0n1 is mounted on /srv";
  }
  SECTION("swap") {
    kernel->set("/proc/swaps", "Filename Type Size\n/dev/nvme0n1p1 partition 1024");
    expected = "nvme0n1p1 is swap";
  }
  SECTION("part of something") {
    kernel->add_holder("nvme0n1", "md0");
    expected = "nvme0n1 is part of md0";
  }
  SECTION("claimed") {
    kernel->open_errors["/dev/nvme0n1"] = EBUSY;
    expected = "nvme0n1 is held by something";
  }
  SECTION("registers that are exclusive") {
    kernel->map_error = EINVAL;
    expected = "(CONFIG_IO_STRICT_DEVMEM): boot with iomem=relaxed, or use vfio: scripts/xio-bind bind 0000:04:00.0";
  }
  SECTION("lockdown") {
    kernel->open_errors[kernel->pci_folder() + "/resource0"] = EPERM;
    expected = "BAR0 of 0000:04:00.0 cannot be mapped: run as root, and without kernel lockdown";
  }
  SECTION("lockdown, as it shows") {
    kernel->map_error = EPERM;
    expected = "BAR0 of 0000:04:00.0 cannot be mapped: run as root, and without kernel lockdown";
  }
  SECTION("a BAR that is too small") {
    std::filesystem::resize_file(kernel->pci_folder() + "/resource0", 4096);
    expected = "it has 4096 bytes; this is no NVMe controller";
  }
  SECTION("removed by surprise") {
    kernel->set_register(0x14, 0xffffffff);
    expected = "its registers read as all ones";
  }
  SECTION("not enabled") {
    kernel->set_register(0x14, 0x00460000);
    expected = "the kernel has not enabled the controller";
  }
  SECTION("entries of another size") {
    kernel->set_register(0x14, 0x00470001);
    expected = "entries of 128 and 16 bytes";
  }
  SECTION("a dead controller") {
    kernel->set("/sys/class/nvme/nvme0/state", "dead");
    expected = "nvme0 is gone (state 'dead')";
  }
  SECTION("shadow doorbells") {
    kernel->oacs = 0x106;
    expected = "switch them off (QEMU 10: dbcs=off), or use vfio: scripts/xio-bind bind 0000:04:00.0";
  }
  SECTION("no spare queue") {
    kernel->number_of_queues = 0x00080007;
    expected = "no spare queue on this controller: the kernel uses all 8 of nvme0; use vfio";
  }
  SECTION("passthrough is not permitted") {
    kernel->statuses[0x06] = {-EACCES};
    expected = "does not pass on Identify: run as root (CAP_SYS_ADMIN)";
  }
  SECTION("no hugetlbfs") {
    kernel->set("/proc/self/mounts", "none /dev/hugepages hugetlbfs rw,relatime,pagesize=1024M 0 0");
    expected = "mount -t hugetlbfs -o pagesize=2M none /dev/hugepages";
  }
  SECTION("no hugetlbfs of this size") {
    kernel->set("/proc/meminfo", "Hugepagesize:    1048576 kB");
    expected = "mount -t hugetlbfs -o pagesize=2M none /dev/hugepages";
  }
  SECTION("addresses are not told") {
    kernel->tells_frames = false;
    expected = "/proc/self/pagemap does not report physical addresses: run as root";
  }
  const std::string message = shared_refusal(kernel, options);
  INFO(message);
  CHECK(contains(message, expected));
  CHECK(kernel->cqs.empty());
  CHECK(kernel->queue_files().empty());
}

TEST_CASE("without libnvme the ioctl serves", "[host][kernel_shared]") {
  const auto kernel = std::make_shared<FakeDriver>();
  const std::string none = "libnvme-that-is-not-there.so";
  CHECK(make_passthrough(Passthrough::automatic, kernel, none)->description() == "ioctl");
  CHECK(make_passthrough(Passthrough::ioctl, kernel)->description() == "ioctl");
  CHECK(contains(error_of([&] { make_passthrough(Passthrough::libnvme, kernel, none); }),
                 "install libnvme (Debian: libnvme1), or use passthrough=ioctl"));
}

TEST_CASE("an identity domain is as good as none", "[host][kernel_shared]") {
  const auto kernel = std::make_shared<FakeDriver>();
  kernel->set_domain("identity");
  CHECK(make_shared_controller(kernel).create_queue().qid() == 64);
}

TEST_CASE("who may write is said", "[host][kernel_shared]") {
  const auto kernel = std::make_shared<FakeDriver>();
  const auto why = [&](const KernelSharedOptions& options) {
    const KernelSharedNvme nvme(options, kernel);
    CHECK(nvme.writable() == nvme.why_read_only().empty());
    return nvme.why_read_only();
  };
  CHECK(why(shared_options()).empty());
  CHECK(contains(why(shared_options("/dev/nvme0")), "name the namespace: /dev/disk/by-id/nvme-..."));
  CHECK(contains(why(shared_options("/dev/nvme0n1")), "name the namespace: /dev/disk/by-id/nvme-..."));
  CHECK(contains(why(shared_options("/dev/disk/by-id/../../nvme0n1")), "name the namespace: /dev/disk/by-id/nvme-..."));
  KernelSharedOptions reading = shared_options();
  reading.read_mounted = true;
  CHECK(contains(why(reading), "mounted=read allows reads only; leave it out"));
  kernel->add_holder("nvme0n1p1", "dm-0");
  CHECK(contains(why(reading), "nvme0n1p1 is part of dm-0, and mounted=read allows reads only"));
}

TEST_CASE("queues of processes that have ended are deleted first", "[host][kernel_shared]") {
  const auto kernel = std::make_shared<FakeDriver>();
  kernel->cqs = kernel->sqs = {64, 63, 5};
  SECTION("those that are theirs alone") {
    // 5 is the kernel's now: it may have taken more queues after a reset. 62 went with a reset.
    leave_behind(*kernel, {64, 5, 62});
    const std::string other = leave_behind(*kernel, {63}, "live00");
    const int alive = ::open(other.c_str(), O_RDWR | O_CLOEXEC);
    REQUIRE(::flock(alive, LOCK_EX | LOCK_NB) == 0);
    leave_behind(*kernel, {63}, "older0");
    {
      NvmeController controller = make_shared_controller(kernel);
      const auto deleted = kernel->of(AdminOpcode::delete_io_sq);
      REQUIRE(deleted.size() == 2);
      check_command(deleted[0], AdminOpcode::delete_io_sq, nullptr, 62);
      check_command(deleted[1], AdminOpcode::delete_io_sq, nullptr, 64);
      CHECK(kernel->of(AdminOpcode::delete_io_cq).size() == 2);
      CHECK(kernel->cqs == std::set<uint32_t>{63, 5});
      CHECK(kernel->queue_files().size() == 2);
      // 63 may be gone by a reset that its owner has not noticed: it is still not ours.
      kernel->cqs.erase(63);
      kernel->sqs.erase(63);
      const NvmeQueue first = controller.create_queue();
      const NvmeQueue second = controller.create_queue();
      CHECK(first.qid() == 64);
      CHECK(second.qid() == 62);
    }
    CHECK(kernel->queue_files() == std::vector<std::string>{other});
    ::close(alive);
  }
  SECTION("a file that was not finished") {
    std::filesystem::resize_file(leave_behind(*kernel, {}, "empty0"), 0);
    leave_behind(*kernel, {}, "nothing");
    const KernelSharedNvme nvme(shared_options(), kernel);
    CHECK(kernel->of(AdminOpcode::delete_io_sq).empty());
    CHECK(kernel->queue_files().size() == 1);
  }
  SECTION("another controller's file") {
    const std::string other = kernel->huge_folder() + "/xio-0000:05:00.0-other0";
    std::ofstream(other).close();
    {
      const KernelSharedNvme nvme(shared_options(), kernel);
    }
    CHECK(kernel->queue_files() == std::vector<std::string>{other});
  }
  SECTION("one that cannot be deleted") {
    const std::string path = leave_behind(*kernel, {64});
    kernel->statuses[0x00] = {0x0006};
    CHECK(contains(shared_refusal(kernel),
                   "Delete I/O Submission Queue (queue 64 of process 4711, which has ended; `nvme reset /dev/nvme0`"));
    CHECK(kernel->queue_files() == std::vector<std::string>{path});
    const KernelSharedNvme nvme(shared_options(), kernel);
    CHECK(kernel->cqs.count(64) == 0);
  }
}

TEST_CASE("a process that cannot delete its queues leaves their memory", "[host][kernel_shared]") {
  const auto kernel = std::make_shared<FakeDriver>();
  {
    NvmeController controller = make_shared_controller(kernel);
    const NvmeQueue queue = controller.create_queue();
    const NvmeQueue second = controller.create_queue();
    // One of two, by the controller and by the transport after it.
    kernel->statuses[0x00] = {0x0006, 0, 0x0006};
    const NvmeController ends = std::move(controller);
  }
  REQUIRE(kernel->queue_files().size() == 1);
  CHECK(kernel->cqs == std::set<uint32_t>{63});
  // The next one deletes them.
  const KernelSharedNvme nvme(shared_options(), kernel);
  CHECK(kernel->cqs.empty());
  CHECK(kernel->queue_files().size() == 1);
}

TEST_CASE("a reset of the kernel's takes queues, and they are created anew", "[host][kernel_shared]") {
  const auto kernel = std::make_shared<FakeDriver>();
  auto transport = std::make_unique<KernelSharedNvme>(shared_options(), kernel);
  const KernelSharedNvme* const shared = transport.get();
  NvmeController controller(std::move(transport));
  const NvmeQueue queue = controller.create_queue();
  SECTION("while we look") {
    kernel->cqs.clear();
    kernel->sqs.clear();
    // The kernel takes more queues than before.
    kernel->set("/sys/class/nvme/nvme0/queue_count", "17");
    // The first command is turned away, as the reset has not ended.
    kernel->statuses[0x00] = {0x4370};
    kernel->commands.clear();
    controller.recover();
    CHECK(kernel->of(AdminOpcode::delete_io_sq).size() == 2);
    CHECK(queue.generation() == 2);
    CHECK(queue.valid());
    CHECK(kernel->cqs == std::set<uint32_t>{64});
    CHECK(controller.queue_ids().first == 17);
  }
  SECTION("in the middle of a command") {
    kernel->statuses[0x06] = {-EINTR};
    CHECK(
        contains(error_of([&] { controller.identify_namespace(1); }), "it reset the controller meanwhile; recover()"));
  }
  SECTION("states of the driver") {
    kernel->set("/sys/class/nvme/nvme0/state", "resetting");
    CHECK(shared->alive());
    kernel->set("/sys/class/nvme/nvme0/state", "dead");
    CHECK_FALSE(shared->alive());
    CHECK(contains(error_of([&] { controller.recover(); }), "nvme0 is gone (state 'dead')"));
  }
  SECTION("the device is gone") {
    kernel->statuses[0x06] = {-ENODEV};
    CHECK(contains(error_of([&] { controller.identify_namespace(1); }), "nvme0 is gone; see dmesg"));
  }
}
