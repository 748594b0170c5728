// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief Memory at the same addresses in every process, so that a seed is reproducible; it holds everything that a
/// kernel or a device model accesses.

#include <sys/mman.h>

#include <cstring>
#include <new>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <xio/host/emulation/memory_source.hpp>

#include <machine/core/address_space.hpp>

namespace scenarios {

using machine::AddressSpace;
using machine::MemoryKind;

/// Allocates memory from its beginning; nothing is freed before the arena is destroyed.
class Arena {
 public:
  explicit Arena(size_t bytes = size_t{16} << 20) : bytes_(bytes) {
    constexpr bool sanitized = XIO_TSAN || XIO_ASAN;
    // Sanitizers have their own memory there.
    void* const wanted = sanitized ? nullptr : reinterpret_cast<void*>(uintptr_t{0x100000000000});
    constexpr int fixed = sanitized ? 0 : MAP_FIXED_NOREPLACE;
    void* const got =
        ::mmap(wanted, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | fixed, -1, 0);
    if (got == MAP_FAILED) throw std::runtime_error("the arena's addresses are in use");
    begin_ = static_cast<unsigned char*>(got);
  }
  ~Arena() { ::munmap(begin_, bytes_); }
  Arena(const Arena&) = delete;
  Arena& operator=(const Arena&) = delete;

  void* allocate(size_t bytes, size_t alignment, MemoryKind kind, const char* name) {
    used_ = (used_ + alignment - 1) / alignment * alignment;
    void* const at = begin_ + used_;
    // A gap behind each allocation makes accesses beyond its end detectable.
    used_ += bytes + 64;
    if (used_ > bytes_) throw std::bad_alloc();
    pieces_.push_back({at, bytes, kind, name});
    return at;
  }
  template <class T>
  T* make(size_t count, MemoryKind kind, const char* name) {
    return static_cast<T*>(allocate(count * sizeof(T), alignof(T) < 64 ? 64 : alignof(T), kind, name));
  }
  /// Allocator for device models.
  /// @param told  where handles say that it lies
  xio::emulation::MemorySource source(MemoryKind kind, const char* name, xio::Memory told = xio::Memory::host) {
    return {[this, kind, name](size_t bytes, size_t alignment) { return allocate(bytes, alignment, kind, name); },
            [](void*) {}, told};
  }
  /// Maps all allocations so far, in order.
  void map(AddressSpace& space) const {
    for (const Piece& piece : pieces_) space.add(piece.at, piece.bytes, piece.kind, piece.name);
  }

 private:
  struct Piece {
    void* at;
    size_t bytes;
    MemoryKind kind;
    const char* name;
  };
  unsigned char* begin_;
  size_t bytes_;
  size_t used_ = 0;
  std::vector<Piece> pieces_;
};

}  // namespace scenarios
