// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief The library's macros except the version: compiler, compilation pass, attributes, namespaces, integer types.

#include <xio/version.hpp>

#if __cplusplus < 201703L
#error "xio needs C++17: compile with -std=c++17 or later"
#include "what follows are errors of the older language: a missing file ends the compilation"
#endif

#if defined(__CUDACC_RTC__) || defined(__HIPCC_RTC__)
#define XIO_RTC 1
#else
#define XIO_RTC 0
#include <stdint.h>
#endif

// The compilation pass selects the back end: a HIP or CUDA unit is compiled twice, and its host pass uses the host back
// end.
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

/// @addtogroup kernel_core
/// @{

/// Declares a kernel entry point: `__global__` where the source is compiled for a GPU, nothing elsewhere. If you know
/// the largest block, XIO_BOUNDED_KERNEL is better.
#if defined(__HIP__) || defined(__CUDACC__) || defined(__CUDA__)
#define XIO_KERNEL __global__
#else
#define XIO_KERNEL
#endif

/// XIO_KERNEL for blocks of at most `threads` threads, a constant. Without a bound AMD's compilers allow for 1,024,
/// with two consequences: a thread has no more than 128 registers on CDNA, so that large kernels save some in scratch
/// memory, which clang 19 gets wrong at times (docs/gpu.md); and arrays of a thread, such as `Token tokens[4]`, may be
/// put into LDS for all 1,024: up to all that a block has.
#if defined(__HIP__)
#define XIO_BOUNDED_KERNEL(threads) __global__ __attribute__((amdgpu_flat_work_group_size(1, threads)))
#elif defined(__CUDACC__) && !defined(__clang__)
#define XIO_BOUNDED_KERNEL(threads) __global__ __launch_bounds__(threads)
#elif defined(__CUDA__)
#define XIO_BOUNDED_KERNEL(threads) __global__ __attribute__((launch_bounds(threads)))
#else
#define XIO_BOUNDED_KERNEL(threads)
#endif

/// Whether this compilation pass can run kernels on the CPU (xio/host/simt).
#define XIO_HAS_SIMT XIO_ARCH_HOST

// CDNA3 and later: memory instructions carry the scope of an access.
#if defined(__gfx940__) || defined(__gfx941__) || defined(__gfx942__) || defined(__gfx950__) || \
    defined(__gfx9_4_generic__)
#define XIO_GFX940 1
#else
#define XIO_GFX940 0
#endif

/// Whether a wave has 64 lanes (else 32) on AMD GPUs. Newer compilers do not predefine the wave size: define this as 1
/// for RDNA targets with -mwavefrontsize64.
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

/// Marks every function that may run in a kernel. Expands to nothing for Doxygen.
#define XIO_DEVICE XIO_HOST_DEVICE inline

/// Offset of a member in bytes, as a constant. NVRTC has neither the builtin nor <stddef.h>.
#if defined(__CUDACC_RTC__)
#define XIO_OFFSETOF(type, member) __INTADDR__(&(((type*)0)->member))
#else
#define XIO_OFFSETOF(type, member) __builtin_offsetof(type, member)
#endif

/// Whether the compiler's byte-swap builtin is usable in constant expressions of device functions.
#if defined(__CUDACC__) || defined(__CUDACC_RTC__)
#define XIO_HAS_BYTE_SWAP 0
#else
#define XIO_HAS_BYTE_SWAP 1
#endif

/// Whether the compiler keeps a constant table of a function in memory; nvcc builds it on the stack.
#if XIO_ARCH_NVPTX && !defined(__clang__)
#define XIO_LOCAL_TABLES_ARE_CONSTANT 0
#else
#define XIO_LOCAL_TABLES_ARE_CONSTANT 1
#endif

/// Whether such tables are declared in constant memory: by nvcc for the host as well, where it registers them.
#if defined(__CUDACC__) && !defined(__clang__)
#define XIO_HAS_CONSTANT_TABLES 1
#else
#define XIO_HAS_CONSTANT_TABLES 0
#endif

/// Marks a rarely taken path: out of line on the host, where a call is cheap and registers are few. Inlined on a GPU,
/// where an object passed by address would have to live in scratch memory.
#if XIO_ARCH_HOST
#define XIO_COLD __attribute__((noinline, cold))
#else
#define XIO_COLD __attribute__((always_inline))
#endif

/// Marks a large, rarely taken leaf function: one called copy per kernel on a GPU. For functions that call no other
/// function and take and return values; these need no scratch memory there.
#if XIO_ARCH_HOST
#define XIO_LEAF
#else
#define XIO_LEAF __attribute__((noinline))
#endif

/// Marks a long path that is rarely taken and calls others: on NVIDIA GPUs one called copy per kernel, so that the
/// usual path keeps its registers. Takes objects by value: by address they would live in scratch memory on the usual
/// path, too. On AMD GPUs a function that is called has more registers than a block of 1024 threads leaves it.
#if XIO_ARCH_NVPTX
#define XIO_RARE __attribute__((noinline))
#else
#define XIO_RARE
#endif

/// Precedes a loop off the hot path, of which nvcc would make 4 to 16 copies.
#if XIO_ARCH_NVPTX
#define XIO_ROLLED _Pragma("unroll 1")
#else
#define XIO_ROLLED
#endif

/// Selects one statement by scope: PTX puts the scope between the two parts of an instruction's text. `statement` takes
/// the text and the operands after it.
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

/// Host only: 1 counts stores, fences, atomics and doorbells of the calling thread (tests of the cost contract); 2 also
/// reports stores and fences to arch::store_observer (tests of their order).
#ifndef XIO_COUNT_OPERATIONS
#define XIO_COUNT_OPERATIONS 0
#endif

/// Host only: every coherent access of a lane of xio/host/simt/simt.hpp is a scheduling point where other lanes may run
/// (see Grid::jitter_seed).
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

/// Host only: lanes of xio/host/simt/simt.hpp switch with ucontext instead of a few instructions of assembly.
#ifndef XIO_FIBRE_UCONTEXT
#if defined(__x86_64__) || defined(__aarch64__)
#define XIO_FIBRE_UCONTEXT 0
#else
#define XIO_FIBRE_UCONTEXT 1
#endif
#endif

/// As XIO_DEVICE, and always inlined: for functions that depend on their call site.
#define XIO_DEVICE_ALWAYS_INLINE XIO_HOST_DEVICE __attribute__((always_inline)) inline

/// As XIO_DEVICE, for functions whose cost contract depends on inlining. On a host that does not optimise, or that
/// instruments every access, forced inlining only costs compile time.
#if XIO_ARCH_HOST && (XIO_TSAN || XIO_ASAN || !defined(__OPTIMIZE__))
#define XIO_DEVICE_INLINE XIO_DEVICE
#else
#define XIO_DEVICE_INLINE XIO_DEVICE_ALWAYS_INLINE
#endif

/// XIO_DEVICE_INLINE for a lambda; it follows the parameters.
#if XIO_ARCH_HOST && (XIO_TSAN || XIO_ASAN || !defined(__OPTIMIZE__))
#define XIO_INLINE_LAMBDA
#else
#define XIO_INLINE_LAMBDA __attribute__((always_inline))
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

/// Whether two types are identical. The header type_traits is not available to run-time compilers. @ingroup kernel_core
template <class A, class B>
struct IsSame {
  static constexpr bool value = false;
};
template <class A>
struct IsSame<A, A> {
  static constexpr bool value = true;
};

/// `A` if `First`, else `B`. @ingroup kernel_core
template <bool First, class A, class B>
struct Choose {
  using type = A;
};
template <class A, class B>
struct Choose<false, A, B> {
  using type = B;
};
XIO_NAMESPACE_END

/// @}
