// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief Fibres: user-space contexts that a thread switches in a few nanoseconds. The lanes of a wave run on them.

#include <cxxabi.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstring>

#include <xio/config.hpp>
#include <xio/host/error.hpp>

#if XIO_FIBRE_UCONTEXT
#include <ucontext.h>
#endif
#if XIO_ASAN
#include <sanitizer/common_interface_defs.h>
#endif
#if XIO_TSAN
#include <sanitizer/tsan_interface.h>
#endif

XIO_NAMESPACE_BEGIN

namespace simt::detail {

/// A stack with a guard page below it, so that an overflow faults instead of corrupting other memory.
class Stack {
 public:
  /// @param bytes  usable size; rounded up to whole pages
  explicit Stack(size_t bytes) {
    const size_t page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
    size_ = (bytes + page - 1) / page * page;
    guard_ = page;
    void* const base =
        mmap(nullptr, guard_ + size_, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK | MAP_NORESERVE, -1, 0);
    if (base == MAP_FAILED) fail(errno);
    base_ = static_cast<char*>(base);
    if (mprotect(bottom(), size_, PROT_READ | PROT_WRITE) != 0) {
      const int error_number = errno;
      munmap(base_, guard_ + size_);
      fail(error_number);
    }
  }
  ~Stack() { munmap(base_, guard_ + size_); }
  Stack(const Stack&) = delete;
  Stack& operator=(const Stack&) = delete;

  char* bottom() const { return base_ + guard_; }
  char* top() const { return bottom() + size_; }
  size_t size() const { return size_; }

 private:
  [[noreturn]] static void fail(int error_number) {
    host::throw_system_error("no memory for the stack of a lane; launch fewer waves at once or smaller stacks",
                             error_number);
  }

  char* base_ = nullptr;
  size_t size_ = 0;
  size_t guard_ = 0;
};

/// An execution context: a thread's own stack or a fibre's. Runs on one thread at a time.
class Strand {
 public:
  /// Represents the calling thread's own stack, to switch back to.
  Strand() {
#if XIO_TSAN
    tsan_ = __tsan_get_current_fiber();
#endif
  }
  Strand(const Strand&) = delete;
  Strand& operator=(const Strand&) = delete;

  /// Suspends `from`, which is running, and resumes `to`. Returns when a strand transfers back to `from`.
  static void transfer(Strand& from, Strand& to);

 protected:
  struct ForFibre {};
  explicit Strand(ForFibre) {}

  using Entry = void (*)(void*, void*, Strand* self);

  /// Makes the first transfer to this strand call `entry` on the stack from `bottom` to `top`.
  void prepare(Entry entry, char* bottom, char* top) {
#if XIO_ASAN
    bottom_ = bottom;
    size_ = static_cast<size_t>(top - bottom);
#endif
    prepare_registers(entry, bottom, top);
  }

  /// To be called by a strand as soon as a transfer has resumed it.
  void arrived([[maybe_unused]] void* fake_stack) {
#if XIO_ASAN
    const void* bottom = nullptr;
    size_t size = 0;
    __sanitizer_finish_switch_fiber(fake_stack, &bottom, &size);
    came_from_->bottom_ = bottom;
    came_from_->size_ = size;
#endif
  }

#if XIO_TSAN
  void* tsan_ = nullptr;
#endif

 private:
  /// The C++ runtime's per-thread exception state, saved per strand: a lane may be suspended in a handler.
  struct ExceptionState {
    void* caught;
    unsigned int uncaught;
  };
  static_assert(sizeof(ExceptionState) == 16 || sizeof(void*) != 8, "layout given by the Itanium C++ ABI");

  void prepare_registers(Entry entry, char* bottom, char* top);
  static void jump(Strand& from, Strand& to);

#if XIO_FIBRE_UCONTEXT
  static void start(unsigned high, unsigned low) {
    auto* const self = reinterpret_cast<Strand*>(static_cast<uintptr_t>(uint64_t{high} << 32 | low));
    self->entry_(nullptr, nullptr, self);
  }

  ucontext_t context_{};
  Entry entry_ = nullptr;
#else
  /// The assembly below knows the offsets: 0, 8, 16.
  struct Registers {
    void* program;
    void* stack;
    void* frame;
  };
  Registers registers_{};
#endif
  ExceptionState exceptions_{};
#if XIO_ASAN
  void* fake_stack_ = nullptr;
  Strand* came_from_ = nullptr;
  const void* bottom_ = nullptr;
  size_t size_ = 0;
#endif
};

#if XIO_FIBRE_UCONTEXT

inline void Strand::prepare_registers(Entry entry, char* bottom, char* top) {
  entry_ = entry;
  getcontext(&context_);
  context_.uc_stack.ss_sp = bottom;
  context_.uc_stack.ss_size = static_cast<size_t>(top - bottom);
  context_.uc_link = nullptr;
  const uint64_t self = reinterpret_cast<uintptr_t>(this);
  makecontext(&context_, reinterpret_cast<void (*)()>(start), 2, static_cast<unsigned>(self >> 32),
              static_cast<unsigned>(self & 0xffffffff));
}

inline void Strand::jump(Strand& from, Strand& to) { swapcontext(&from.context_, &to.context_); }

#else

inline void Strand::prepare_registers(Entry entry, [[maybe_unused]] char* bottom, char* top) {
#if defined(__x86_64__)
  // As after a call: 8 bytes below a multiple of 16, with a return address of 0 to end a debugger's walk.
  void** const slot = reinterpret_cast<void**>(top - 16) + 1;
  *slot = nullptr;
  registers_ = {reinterpret_cast<void*>(entry), slot, nullptr};
#else
  registers_ = {reinterpret_cast<void*>(entry), top, nullptr};
#endif
}

// Saves the resume address, stack pointer and frame pointer, and declares all other registers clobbered: the compiler
// saves what it needs around the switch. The resumed strand is in the third argument register, where an Entry expects
// it. Floating-point control words are not switched: the lanes of a thread share them.
__attribute__((always_inline)) inline void Strand::jump(Strand& from, Strand& to) {
#if defined(__x86_64__)
  Registers* save = &from.registers_;
  Registers* load = &to.registers_;
  Strand* self = &to;
  asm volatile(
      "leaq 1f(%%rip), %%rax\n\t"
      "movq %%rax, 0(%%rdi)\n\t"
      "movq %%rsp, 8(%%rdi)\n\t"
      "movq %%rbp, 16(%%rdi)\n\t"
      "movq 16(%%rsi), %%rbp\n\t"
      "movq 8(%%rsi), %%rsp\n\t"
      "jmpq *0(%%rsi)\n"
      "1:\n\t"
      "endbr64"
      : "+D"(save), "+S"(load), "+d"(self)
      :
      : "rax", "rbx", "rcx", "r8", "r9", "r10", "r11", "r12", "r13", "r14", "r15", "memory", "cc", "st", "st(1)",
        "st(2)", "st(3)", "st(4)", "st(5)", "st(6)", "st(7)", "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6",
        "xmm7", "xmm8", "xmm9", "xmm10", "xmm11", "xmm12", "xmm13", "xmm14", "xmm15"
#if defined(__AVX512F__)
        ,
        "xmm16", "xmm17", "xmm18", "xmm19", "xmm20", "xmm21", "xmm22", "xmm23", "xmm24", "xmm25", "xmm26", "xmm27",
        "xmm28", "xmm29", "xmm30", "xmm31", "k1", "k2", "k3", "k4", "k5", "k6", "k7"
#endif
  );
#elif defined(__aarch64__)
  register Registers* save asm("x0") = &from.registers_;
  register Registers* load asm("x1") = &to.registers_;
  register Strand* self asm("x2") = &to;
  asm volatile(
      "adr x4, 1f\n\t"
      "mov x3, sp\n\t"
      "stp x4, x3, [x0, #0]\n\t"
      "str x29, [x0, #16]\n\t"
      "ldp x16, x3, [x1, #0]\n\t"
      "ldr x29, [x1, #16]\n\t"
      "mov sp, x3\n\t"
      "mov x30, xzr\n\t"
      "br x16\n"
      "1:\n\t"
      "hint #36"  // bti j
      : "+r"(save), "+r"(load), "+r"(self)
      :
      : "x3", "x4", "x5", "x6", "x7", "x8", "x9", "x10", "x11", "x12", "x13", "x14", "x15", "x16", "x17", "x19", "x20",
        "x21", "x22", "x23", "x24", "x25", "x26", "x27", "x28", "x30", "memory", "cc", "v0", "v1", "v2", "v3", "v4",
        "v5", "v6", "v7", "v8", "v9", "v10", "v11", "v12", "v13", "v14", "v15", "v16", "v17", "v18", "v19", "v20",
        "v21", "v22", "v23", "v24", "v25", "v26", "v27", "v28", "v29", "v30", "v31");
#endif
}

#endif  // XIO_FIBRE_UCONTEXT

__attribute__((noinline)) inline void Strand::transfer(Strand& from, Strand& to) {
  void* const runtime = abi::__cxa_get_globals();
  std::memcpy(&from.exceptions_, runtime, sizeof(ExceptionState));
  std::memcpy(runtime, &to.exceptions_, sizeof(ExceptionState));
#if XIO_ASAN
  to.came_from_ = &from;
  __sanitizer_start_switch_fiber(&from.fake_stack_, to.bottom_, to.size_);
#endif
#if XIO_TSAN
  // Flag 0: a switch synchronizes the lanes of a wave. This hides races between lanes of one wave, which a GPU runs in
  // lockstep; TSan still finds races between waves and with other threads.
  __tsan_switch_to_fiber(to.tsan_, 0);
#endif
  jump(from, to);
#if XIO_ASAN
  from.arrived(from.fake_stack_);
#endif
}

/// A reusable strand with its own stack; runs one body after another.
class Fibre : public Strand {
 public:
  /// Function that a fibre runs; returns the strand to resume when it has ended. Must not throw.
  using Body = Strand& (*)(void* argument);

  explicit Fibre(size_t stack_bytes, size_t colour = 0) : Strand(ForFibre{}), memory_(stack_bytes) {
    // Cache colouring: the lanes of a wave access equal offsets from their stack tops.
    top_ = memory_.top() - colour % colours * 256;
#if XIO_TSAN
    tsan_ = __tsan_create_fiber(0);
#endif
    prepare(&Fibre::loop, memory_.bottom(), top_);
  }
  ~Fibre() {
#if XIO_TSAN
    __tsan_destroy_fiber(tsan_);
#endif
  }

  /// Makes the next transfer to this idle fibre call `body(argument)`.
  void assign(Body body, void* argument) {
    body_ = body;
    argument_ = argument;
  }

  size_t stack_bytes() const { return memory_.size(); }
  /// End of this fibre's stack, which grows downwards from here.
  const char* top() const { return top_; }

  /// Distance of a frame from the top of this fibre's stack in bytes.
  size_t depth(const void* frame) const { return static_cast<size_t>(top_ - static_cast<const char*>(frame)); }

 private:
  static constexpr size_t colours = 15;

  static void loop(void*, void*, Strand* self) {
    auto* const fibre = static_cast<Fibre*>(self);
    fibre->arrived(nullptr);
    for (;;) transfer(*fibre, fibre->body_(fibre->argument_));
  }

  Stack memory_;
  char* top_;
  Body body_ = nullptr;
  void* argument_ = nullptr;
};

}  // namespace simt::detail

XIO_NAMESPACE_END
