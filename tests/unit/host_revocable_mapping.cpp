// SPDX-License-Identifier: MIT

/// @file
/// @brief Mappings that are taken away: files that are cut off below them, so that every SIGBUS here is a real one.

#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include <xio/host/memory/revocable_mapping.hpp>
#include <xio/host/nvme/kernel_shared.hpp>

#include "catch.hpp"
#include "unit/host_fake_driver.hpp"

using xio::host::BusErrorGuard;
using xio::host::RevocableMapping;

namespace {

constexpr size_t page = 4096;

/// Pages of a file, which can be taken away.
class FilePages {
 public:
  FilePages() : file_(::memfd_create("pages", MFD_CLOEXEC)) {
    REQUIRE(::ftruncate(file_, bytes) == 0);
    data_ = static_cast<unsigned char*>(::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file_, 0));
    REQUIRE(data_ != MAP_FAILED);
  }
  FilePages(const FilePages&) = delete;
  FilePages& operator=(const FilePages&) = delete;
  ~FilePages() {
    ::munmap(data_, bytes);
    ::close(file_);
  }
  void take_away() const { REQUIRE(::ftruncate(file_, 0) == 0); }
  /// The file once more, as the device itself would see it.
  void* mapped_again() const {
    void* const again = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file_, 0);
    REQUIRE(again != MAP_FAILED);
    return again;
  }
  unsigned char* data() const { return data_; }
  volatile uint32_t* word(size_t offset) const { return reinterpret_cast<volatile uint32_t*>(data_ + offset); }

  static constexpr size_t bytes = 4 * page;

 private:
  int file_;
  unsigned char* data_ = nullptr;
};

/// How a child ends that runs `body` with the signal as a process gets it: the signal, or 0 where it ran to its end.
int ends_by(const std::function<void()>& body) {
  const pid_t child = ::fork();
  if (child == 0) {
    const rlimit none{0, 0};
    ::setrlimit(RLIMIT_CORE, &none);
    ::signal(SIGBUS, SIG_DFL);
    body();
    ::_exit(0);
  }
  int status = -1;
  REQUIRE(::waitpid(child, &status, 0) == child);
  REQUIRE((WIFSIGNALED(status) || WEXITSTATUS(status) == 0));
  return WIFSIGNALED(status) ? WTERMSIG(status) : 0;
}

std::atomic<int> seen{0};
std::atomic<void*> seen_address{nullptr};
const FilePages* mended = nullptr;

/// A program's own handler, which makes its page accessible.
void program_handler(int, siginfo_t* info, void*) {
  ++seen;
  seen_address = info->si_addr;
  if (info->si_code <= 0) return;
  if (::mmap(mended->data(), page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) ==
      MAP_FAILED)
    ::_exit(1);
}
void plain_handler(int) { ++seen; }

/// The program's handling of SIGBUS, until this ends.
class Handling {
 public:
  explicit Handling(const struct sigaction& action) { ::sigaction(SIGBUS, &action, &before_); }
  Handling(const Handling&) = delete;
  Handling& operator=(const Handling&) = delete;
  ~Handling() { ::sigaction(SIGBUS, &before_, nullptr); }

 private:
  struct sigaction before_{};
};

struct sigaction with_details() {
  struct sigaction action{};
  action.sa_sigaction = program_handler;
  action.sa_flags = SA_SIGINFO;
  return action;
}
struct sigaction plain(void (*handler)(int)) {
  struct sigaction action{};
  action.sa_handler = handler;
  return action;
}

}  // namespace

TEST_CASE("stores to registers that were taken away go nowhere", "[host][revocable]") {
  const BusErrorGuard guard;
  const FilePages pages;
  const RevocableMapping mapping(pages.data(), FilePages::bytes);
  CHECK(mapping.known());
  *pages.word(page) = 7;
  CHECK(*pages.word(page) == 7);
  CHECK_FALSE(mapping.lost());
  pages.take_away();
  errno = ENOTTY;
  *pages.word(page + 8) = 9;
  CHECK(errno == ENOTTY);
  CHECK(mapping.lost());
  CHECK(*pages.word(page + 8) == 9);
  // What was not stored to reads as a device that is gone does, on every page.
  CHECK(*pages.word(page) == ~0u);
  CHECK(*pages.word(FilePages::bytes - 4) == ~0u);
}

TEST_CASE("a SIGBUS of somebody else's ends the process, with the guard or without", "[host][revocable]") {
  const FilePages pages;
  const FilePages foreign;
  foreign.take_away();
  CHECK(ends_by([&] { *foreign.word(0) = 1; }) == SIGBUS);
  CHECK(ends_by([&] {
          const BusErrorGuard guard;
          const RevocableMapping mapping(pages.data(), FilePages::bytes);
          *foreign.word(0) = 1;
        }) == SIGBUS);
  CHECK(ends_by([] {
          const BusErrorGuard guard;
          ::raise(SIGBUS);
        }) == SIGBUS);
  // Beside the mapping, and after it.
  CHECK(ends_by([&] {
          const BusErrorGuard guard;
          const RevocableMapping mapping(foreign.data() + page, page);
          *foreign.word(2 * page) = 1;
        }) == SIGBUS);
  CHECK(ends_by([&] {
          const BusErrorGuard guard;
          {
            const RevocableMapping mapping(foreign.data(), FilePages::bytes);
          }
          *foreign.word(0) = 1;
        }) == SIGBUS);
  CHECK(ends_by([&] {
          {
            const BusErrorGuard guard;
          }
          const RevocableMapping mapping(foreign.data(), FilePages::bytes);
          *foreign.word(0) = 1;
        }) == SIGBUS);
  // And one of ours does not.
  CHECK(ends_by([&] {
          const BusErrorGuard guard;
          const RevocableMapping mapping(foreign.data(), FilePages::bytes);
          *foreign.word(0) = 1;
        }) == 0);
  // One that is ignored is, where it was sent; an access cannot be.
  CHECK(ends_by([] {
          ::signal(SIGBUS, SIG_IGN);
          const BusErrorGuard guard;
          ::raise(SIGBUS);
        }) == 0);
  CHECK(ends_by([&] {
          ::signal(SIGBUS, SIG_IGN);
          const BusErrorGuard guard;
          *foreign.word(0) = 1;
        }) == SIGBUS);
}

TEST_CASE("what is not ours goes to the handler before", "[host][revocable]") {
  const FilePages ours;
  const FilePages foreign;
  mended = &foreign;
  seen = 0;
  ours.take_away();
  foreign.take_away();
  {
    const Handling program(with_details());
    const BusErrorGuard guard;
    const BusErrorGuard second;
    const RevocableMapping mapping(ours.data(), FilePages::bytes);
    *ours.word(4) = 1;
    CHECK(seen == 0);
    *foreign.word(4) = 5;
    CHECK(seen == 1);
    CHECK(seen_address == foreign.data() + 4);
    CHECK(*foreign.word(4) == 5);
    CHECK(mapping.lost());
  }
  {
    const Handling program(plain(plain_handler));
    const BusErrorGuard guard;
    ::raise(SIGBUS);
    CHECK(seen == 2);
  }
}

TEST_CASE("the handler before is back at the end, unless somebody came after", "[host][revocable]") {
  const Handling program(plain(plain_handler));
  const auto current = [] {
    struct sigaction now{};
    ::sigaction(SIGBUS, nullptr, &now);
    return now;
  };
  {
    const BusErrorGuard guard;
    {
      const BusErrorGuard second;
    }
    CHECK(current().sa_handler != plain_handler);
  }
  CHECK(current().sa_handler == plain_handler);

  std::optional<BusErrorGuard> guard(std::in_place);
  struct sigaction ours = current();
  seen = 0;
  {
    const Handling later(with_details());
    guard.reset();
    CHECK(current().sa_sigaction == program_handler);
    // It would pass on to ours, which goes on to what was before, and is not installed twice.
    ours.sa_sigaction(SIGBUS, std::make_unique<siginfo_t>().get(), nullptr);
    CHECK(seen == 1);
    guard.emplace();
    CHECK(current().sa_sigaction == program_handler);
  }
  CHECK(current().sa_sigaction == ours.sa_sigaction);
  guard.reset();
  CHECK(current().sa_handler == plain_handler);
}

TEST_CASE("registers that are let go of are not reached any more", "[host][revocable]") {
  const FilePages pages;
  volatile uint32_t* const elsewhere = static_cast<uint32_t*>(pages.mapped_again());
  RevocableMapping mapping(pages.data(), FilePages::bytes);
  *pages.word(page) = 7;
  CHECK(elsewhere[page / 4] == 7);
  mapping.let_go();
  CHECK(*pages.word(page) == ~0u);
  *pages.word(page) = 8;
  CHECK(elsewhere[page / 4] == 7);
  // Once is enough, and what was stored since stays.
  mapping.let_go();
  CHECK(*pages.word(page) == 8);
  CHECK_FALSE(mapping.lost());
}

TEST_CASE("as many mappings as there is room for", "[host][revocable]") {
  const FilePages pages;
  std::vector<std::unique_ptr<RevocableMapping>> all;
  while (all.empty() || all.back()->known()) {
    all.push_back(std::make_unique<RevocableMapping>(pages.data(), page));
    REQUIRE(all.size() < 1000);
  }
  CHECK(all.size() == 257);
  CHECK_FALSE(all.back()->lost());
  all.clear();
  CHECK(RevocableMapping(pages.data(), page).known());
}

TEST_CASE("a controller beside the kernel that is removed from the bus", "[host][kernel_shared][revocable]") {
  using host_tests::FakeDriver;
  const auto kernel = std::make_shared<FakeDriver>();
  const BusErrorGuard guard;
  xio::host::KernelSharedNvme nvme(
      xio::host::parse_kernel_shared_spec(std::string(FakeDriver::by_id) + ",dma=4M,passthrough=ioctl"), kernel);
  CHECK(nvme.alive());
  CHECK_FALSE(nvme.removed());
  std::filesystem::resize_file(kernel->pci_folder() + "/resource0", 0);
  CHECK(nvme.alive());
  __atomic_store_n(nvme.doorbell_words() + 128, 5u, __ATOMIC_RELEASE);
  CHECK_FALSE(nvme.alive());
  CHECK(nvme.removed());
  CHECK(nvme.read32(0x14) == ~0u);
}

TEST_CASE("a controller that the kernel lets go of keeps its registers to itself", "[host][kernel_shared][revocable]") {
  using host_tests::FakeDriver;
  const auto kernel = std::make_shared<FakeDriver>();
  xio::host::KernelSharedNvme nvme(
      xio::host::parse_kernel_shared_spec(std::string(FakeDriver::by_id) + ",dma=4M,passthrough=ioctl"), kernel);
  __atomic_store_n(nvme.doorbell_words() + 128, 5u, __ATOMIC_RELEASE);
  CHECK(kernel->bar(0x1200) == 5);
  kernel->set("/sys/class/nvme/nvme0/state", "deleting");
  CHECK_FALSE(nvme.alive());
  CHECK_FALSE(nvme.removed());
  __atomic_store_n(nvme.doorbell_words() + 128, 6u, __ATOMIC_RELEASE);
  CHECK(kernel->bar(0x1200) == 5);
  CHECK(nvme.read32(0x14) == ~0u);
}
