// SPDX-License-Identifier: MIT

/// @file
/// @brief Plugin of QEMU (TCG): counts the instructions that a guest executes, and lets its NVMe drive answer at once.
///
/// QEMU's controller works in QEMU's main thread, so how often a guest polls in vain depends on the scheduler of the
/// machine below. Here the guest's processor stands still after each store to a doorbell until the main thread has
/// nothing left to do: the drive has written its completions and raised its interrupts before the next instruction. A
/// submitter that polls finds what it asked for, and one that sleeps is interrupted at once; neither waits.
///
/// For each store to a register of pci-testdev, and for each 16th doorbell of a submission queue, it writes a line to
/// the file that its argument `out` names: "mark" or "doorbell", the instructions executed so far in user space and in
/// the kernel, the stores to doorbells of submission and completion queues so far, and how often the main thread did
/// not come to rest in time.
///
/// Meant for one processor (scripts/guest --instructions).

#include <fcntl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <cinttypes>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "guest/qemu_plugin.hpp"

namespace {

/// What is counted by instructions that the plugin adds to the translated code.
struct Executed {
  uint64_t user;
  uint64_t kernel;
};

/// Pages that were memory when they were last stored to, which spares a look at the translation for each store.
/// Forgotten often enough that a page whose translation changes is soon seen as what it is.
class MemoryPages {
 public:
  bool has(uint64_t address) {
    if (++stores_ % stores_per_life == 0) forget();
    return pages_[index(address)] == page(address);
  }
  void add(uint64_t address) { pages_[index(address)] = page(address); }
  void forget() { std::memset(pages_, 0, sizeof pages_); }

 private:
  static constexpr uint64_t stores_per_life = 1 << 14;
  static constexpr uint64_t count = 256;
  static uint64_t page(uint64_t address) { return address >> 12; }
  static uint64_t index(uint64_t address) { return page(address) % count; }
  uint64_t pages_[count] = {};
  uint64_t stores_ = 0;
};

constexpr uint64_t doorbells_per_line = 16;
MemoryPages memory_pages;
qemu_plugin_scoreboard* executed = nullptr;
uint64_t submission_doorbells = 0;
uint64_t completion_doorbells = 0;
uint64_t late = 0;
int main_thread = -1;  // its system call, as text
FILE* out = nullptr;

/// Whether QEMU's main thread sleeps in its poll of all files. A thread that was woken, or waits for a lock, does not.
bool main_thread_rests() {
  char text[64] = {};
  if (pread(main_thread, text, sizeof text - 1, 0) <= 0) return false;
  char* end = nullptr;
  const long call = std::strtol(text, &end, 10);  // "running": none
  return end != text && (call == SYS_ppoll || call == SYS_poll);
}

/// The store has woken the main thread, if it is needed, before this is called.
void let_devices_finish() {
  constexpr int most_looks = 100000;
  const timespec moment{0, 10000};
  for (int look = 0; look < most_looks; ++look) {
    if (main_thread_rests()) return;
    nanosleep(&moment, nullptr);
  }
  ++late;
}

void write_line(const char* why, unsigned vcpu) {
  const uint64_t user = qemu_plugin_u64_get({executed, offsetof(Executed, user)}, vcpu);
  const uint64_t kernel = qemu_plugin_u64_get({executed, offsetof(Executed, kernel)}, vcpu);
  std::fprintf(out, "%s %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 "\n", why, user, kernel,
               submission_doorbells, completion_doorbells, late);
}

void on_store(unsigned vcpu, qemu_plugin_meminfo_t info, uint64_t address, void*) {
  if (memory_pages.has(address)) return;
  const qemu_plugin_hwaddr* const where = qemu_plugin_get_hwaddr(info, address);
  if (where == nullptr) return;
  if (!qemu_plugin_hwaddr_is_io(where)) return memory_pages.add(address);
  const char* const device = qemu_plugin_hwaddr_device_name(where);
  // The registers of a controller take 16 KiB, and are aligned to them. Doorbells of 4 bytes begin at byte 4096: one of
  // a submission queue, one of its completion queue.
  const uint64_t offset = qemu_plugin_hwaddr_phys_addr(where) & 0x3fff;
  if (std::strcmp(device, "nvme") == 0 && offset >= 0x1000) {
    const bool submits = offset % 8 == 0;
    ++(submits ? submission_doorbells : completion_doorbells);
    if (submits && submission_doorbells % doorbells_per_line == 0) write_line("doorbell", vcpu);
    let_devices_finish();
  } else if (std::strcmp(device, "pci-testdev-mmio") == 0) {
    memory_pages.forget();
    write_line("mark", vcpu);
    std::fflush(out);
  }
}

void on_translation(qemu_plugin_id_t, qemu_plugin_tb* tb) {
  const size_t count = qemu_plugin_tb_n_insns(tb);
  for (size_t i = 0; i < count; ++i) {
    qemu_plugin_insn* const insn = qemu_plugin_tb_get_insn(tb, i);
    // On x86-64 the kernel has the upper half of the addresses.
    const bool in_kernel = static_cast<int64_t>(qemu_plugin_insn_vaddr(insn)) < 0;
    const size_t which = in_kernel ? offsetof(Executed, kernel) : offsetof(Executed, user);
    qemu_plugin_register_vcpu_insn_exec_inline_per_vcpu(insn, QEMU_PLUGIN_INLINE_ADD_U64, {executed, which}, 1);
    qemu_plugin_register_vcpu_mem_cb(insn, on_store, QEMU_PLUGIN_CB_NO_REGS, QEMU_PLUGIN_MEM_W, nullptr);
  }
}

}  // namespace

extern "C" {

__attribute__((visibility("default"))) int qemu_plugin_version = 3;

__attribute__((visibility("default"))) int qemu_plugin_install(qemu_plugin_id_t id, const qemu_info_t*, int argc,
                                                               char** argv) {
  constexpr const char* key = "out=";
  for (int i = 0; i < argc; ++i) {
    if (std::strncmp(argv[i], key, std::strlen(key)) == 0) out = std::fopen(argv[i] + std::strlen(key), "w");
  }
  char path[64];
  std::snprintf(path, sizeof path, "/proc/self/task/%d/syscall", static_cast<int>(getpid()));
  main_thread = open(path, O_RDONLY | O_CLOEXEC);
  if (out == nullptr || main_thread < 0) {
    std::fprintf(stderr, "instructions: %s cannot be opened\n", out == nullptr ? "out=FILE" : path);
    return 1;
  }
  executed = qemu_plugin_scoreboard_new(sizeof(Executed));
  qemu_plugin_register_vcpu_tb_trans_cb(id, on_translation);
  return 0;
}

}  // extern "C"
