// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief Every macro of the library except the version: compiler, pass, attributes, namespaces, integer types.

#include <xio/version.hpp>

#if defined(__CUDACC_RTC__) || defined(__HIPCC_RTC__)
#define XIO_RTC 1
#else
#define XIO_RTC 0
#include <stdint.h>
#endif

// The pass being compiled chooses the back end: a HIP or CUDA unit is compiled twice, and its host pass uses the host
// back end.
#if defined(__HIP_DEVICE_COMPILE__) || defined(__AMDGCN__)
#define XIO_ARCH_AMDGCN 1
#elif defined(__CUDA_ARCH__)
#define XIO_ARCH_NVPTX 1
#else
#define XIO_ARCH_HOST 1
#endif
#ifndef XIO_ARCH_AMDGCN
#define XIO_ARCH_AMDGCN 0
#endif
#ifndef XIO_ARCH_NVPTX
#define XIO_ARCH_NVPTX 0
#endif
#ifndef XIO_ARCH_HOST
#define XIO_ARCH_HOST 0
#endif

/// Before a kernel that is to be launched: `__global__` where the source is compiled for a GPU, nothing elsewhere.
#if defined(__HIP__) || defined(__CUDACC__) || defined(__CUDA__)
#define XIO_KERNEL __global__
#else
#define XIO_KERNEL
#endif

/// Whether this pass of the compiler can run kernels on the CPU (xio/host/simt).
#define XIO_HAS_SIMT XIO_ARCH_HOST

// CDNA3 and later: its instructions name the scope of an access.
#if defined(__gfx940__) || defined(__gfx941__) || defined(__gfx942__) || defined(__gfx950__) || \
    defined(__gfx9_4_generic__)
#define XIO_GFX940 1
#else
#define XIO_GFX940 0
#endif

/// Lanes of a wave on AMD GPUs: 64 or 32. Newer compilers do not say; define it for RDNA targets with
/// -mwavefrontsize64.
#ifndef XIO_WAVE64
#if defined(__GFX9__)
#define XIO_WAVE64 1
#elif XIO_ARCH_AMDGCN && defined(__clang_major__) && __clang_major__ < 20
#define XIO_WAVE64 (__AMDGCN_WAVEFRONT_SIZE == 64)
#else
#define XIO_WAVE64 0
#endif
#endif

#if defined(__HIP__) || defined(__CUDACC__) || defined(__CUDA__) || XIO_RTC
#define XIO_HOST_DEVICE __host__ __device__
#else
#define XIO_HOST_DEVICE
#endif

/// Marks every function that may run in a kernel. Doxygen sees nothing.
#define XIO_DEVICE XIO_HOST_DEVICE inline

/// Offset of a member in bytes, as a constant. NVRTC has neither the builtin nor <stddef.h>.
#if defined(__CUDACC_RTC__)
#define XIO_OFFSETOF(type, member) __INTADDR__(&(((type*)0)->member))
#else
#define XIO_OFFSETOF(type, member) __builtin_offsetof(type, member)
#endif

/// Whether the compiler's own byte swap is to be had in constant expressions of device functions.
#if defined(__CUDACC__) || defined(__CUDACC_RTC__)
#define XIO_HAS_BYTE_SWAP 0
#else
#define XIO_HAS_BYTE_SWAP 1
#endif

/// Whether a compiler keeps a constant table in memory, rather than to build it where it is used.
#define XIO_TABLES_ARE_CONSTANT (!XIO_ARCH_NVPTX)

/// Seldom needed: kept out of the callers on the host, where a call is cheap and registers are few. Not so on a GPU,
/// where an object that a function takes by address lies in scratch memory.
#if XIO_ARCH_HOST
#define XIO_COLD __attribute__((noinline, cold))
#else
#define XIO_COLD __attribute__((always_inline))
#endif

/// Seldom needed and large: on a GPU once in a kernel, and called. For functions that call no other and take and return
/// values: these need no scratch memory there.
#if XIO_ARCH_HOST
#define XIO_LEAF
#else
#define XIO_LEAF __attribute__((noinline))
#endif

/// One statement for each scope, whose name PTX has between the two parts of an instruction's text: `statement` is what
/// takes the text and the operands behind it.
#define XIO_AT_SCOPE(scope, statement, before, after, ...)     \
  do {                                                         \
    if constexpr (scope == ::xio::arch::Scope::workgroup) {    \
      statement(before ".cta" after __VA_ARGS__);              \
    } else if constexpr (scope == ::xio::arch::Scope::agent) { \
      statement(before ".gpu" after __VA_ARGS__);              \
    } else {                                                   \
      statement(before ".sys" after __VA_ARGS__);              \
    }                                                          \
  } while (false)

#define XIO_LIKELY(x) __builtin_expect(!!(x), 1)
#define XIO_UNLIKELY(x) __builtin_expect(!!(x), 0)

/// Host only: count stores, fences, atomics and doorbells of the calling thread (tests of the cost contract), and show
/// stores and fences to arch::store_observer (tests of their order).
#ifndef XIO_COUNT_OPERATIONS
#define XIO_COUNT_OPERATIONS 0
#endif

/// Host only: every coherent access of a lane of xio/host/simt/simt.hpp is a place where others may run (see
/// Grid::jitter_seed).
#ifndef XIO_INTERLEAVE
#define XIO_INTERLEAVE 0
#endif

#if defined(__SANITIZE_THREAD__)
#define XIO_TSAN 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define XIO_TSAN 1
#endif
#endif
#ifndef XIO_TSAN
#define XIO_TSAN 0
#endif

#if defined(__SANITIZE_ADDRESS__)
#define XIO_ASAN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define XIO_ASAN 1
#endif
#endif
#ifndef XIO_ASAN
#define XIO_ASAN 0
#endif

/// Host only: lanes of xio/host/simt/simt.hpp switch by ucontext instead of a few instructions of assembly.
#ifndef XIO_FIBRE_UCONTEXT
#if defined(__x86_64__) || defined(__aarch64__)
#define XIO_FIBRE_UCONTEXT 0
#else
#define XIO_FIBRE_UCONTEXT 1
#endif
#endif

/// As XIO_DEVICE, and inlined whatever the compiler thinks: for functions that ask where they are called from.
#define XIO_DEVICE_ALWAYS_INLINE XIO_HOST_DEVICE __attribute__((always_inline)) inline

/// As XIO_DEVICE, for the functions whose cost contract depends on being inlined. On a host that does not optimise, or
/// that instruments every access, forced inlining only costs compile time.
#if XIO_ARCH_HOST && (XIO_TSAN || XIO_ASAN || !defined(__OPTIMIZE__))
#define XIO_DEVICE_INLINE XIO_DEVICE
#else
#define XIO_DEVICE_INLINE XIO_DEVICE_ALWAYS_INLINE
#endif

#define XIO_NAMESPACE_BEGIN \
  namespace xio {           \
  inline namespace XIO_ABI {
#define XIO_NAMESPACE_END \
  }                       \
  }

XIO_NAMESPACE_BEGIN
#if XIO_RTC
using int32_t = int;
using int64_t = long long;
using uint8_t = unsigned char;
using uint16_t = unsigned short;
using uint32_t = unsigned int;
using uint64_t = unsigned long long;
using uintptr_t = unsigned long long;
#else
using ::int32_t;
using ::int64_t;
using ::uint16_t;
using ::uint32_t;
using ::uint64_t;
using ::uint8_t;
using ::uintptr_t;
#endif

/// Whether two types are the same: type_traits is not within reach of a run-time compiler.
template <class A, class B>
struct IsSame {
  static constexpr bool value = false;
};
template <class A>
struct IsSame<A, A> {
  static constexpr bool value = true;
};

/// A where `First`, else B.
template <bool First, class A, class B>
struct Choose {
  using type = A;
};
template <class A, class B>
struct Choose<false, A, B> {
  using type = B;
};
XIO_NAMESPACE_END
