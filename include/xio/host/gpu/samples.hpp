// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief Statistics of samples that a kernel left in GPU memory, sorted and binned there by rocPRIM. Include HIP's
/// header before this one; without it, or without rocPRIM (Debian: librocprim-dev), this header is empty.

#include <xio/config.hpp>

#if defined(HIP_INCLUDE_HIP_HIP_RUNTIME_H) && __has_include(<rocprim/rocprim.hpp>)

#include <algorithm>
#include <cstddef>
#include <cstring>  // rocPRIM 7.2 forgets it
#include <memory>
#include <string>
#include <vector>

#include <rocprim/rocprim.hpp>
#include <xio/host/error.hpp>
#include <xio/host/sample_figures.hpp>

XIO_NAMESPACE_BEGIN

namespace host {
/// @addtogroup host_memory
/// @{

namespace detail {

/// Extracts 32 bits of a sample.
struct SampleHalf {
  uint32_t shift;
  XIO_HOST_DEVICE uint64_t operator()(uint64_t sample) const { return sample >> shift & 0xffffffff; }
};

struct SquaredDistance {
  uint64_t centre;
  XIO_HOST_DEVICE double operator()(uint64_t sample) const {
    const auto apart = static_cast<double>(sample > centre ? sample - centre : centre - sample);
    return apart * apart;
  }
};

}  // namespace detail

/// Samples in memory of the current GPU, for figures_of(). Not thread-safe. @ingroup host_memory
class GpuSamples {
 public:
  /// @param samples  in GPU memory, or in host memory that the GPU can access; not changed
  /// @param count    below 2^32
  /// @param stream   the stream of the kernel that wrote them
  GpuSamples(const uint64_t* samples, size_t count, hipStream_t stream = nullptr)
      : samples_(samples), count_(count), stream_(stream) {}

  uint64_t count() const { return count_; }
  void sort() {
    sorted_ = allocate<uint64_t>(count_);
    run("rocprim::radix_sort_keys", [&](void* temporary, size_t& bytes) {
      return rocprim::radix_sort_keys(temporary, bytes, samples_, sorted_.get(), count_, 0, 64, stream_);
    });
  }
  uint64_t at(uint64_t index) const { return fetch(sorted_.get() + index, 1).front(); }
  HistogramBounds below(const HistogramBounds& bounds) const {
    constexpr size_t buckets = Histogram::bucket_count;
    const std::unique_ptr<uint64_t, Free> wanted = allocate<uint64_t>(buckets);
    const std::unique_ptr<uint64_t, Free> found = allocate<uint64_t>(buckets);
    check(hipMemcpyAsync(wanted.get(), bounds.data(), sizeof bounds, hipMemcpyHostToDevice, stream_), "hipMemcpyAsync");
    run("rocprim::lower_bound", [&](void* temporary, size_t& bytes) {
      return rocprim::lower_bound(temporary, bytes, sorted_.get(), wanted.get(), found.get(), count_, buckets,
                                  rocprim::less<uint64_t>(), stream_);
    });
    const std::vector<uint64_t> counts = fetch(found.get(), buckets);
    HistogramBounds result;
    std::copy(counts.begin(), counts.end(), result.begin());
    return result;
  }
  uint64_t sum(uint32_t shift) const { return reduce<uint64_t>(detail::SampleHalf{shift}); }
  double squares(uint64_t centre) const { return reduce<double>(detail::SquaredDistance{centre}); }

 private:
  struct Free {
    void operator()(void* memory) const { static_cast<void>(hipFree(memory)); }
  };

  static void check(hipError_t status, const char* call) {
    if (status != hipSuccess) throw Error(std::string(call) + ": " + hipGetErrorString(status));
  }

  template <class T>
  static std::unique_ptr<T, Free> allocate(size_t count) {
    void* memory = nullptr;
    check(hipMalloc(&memory, count * sizeof(T)), "hipMalloc");
    return std::unique_ptr<T, Free>(static_cast<T*>(memory));
  }

  /// Calls rocPRIM twice: to query its temporary memory, then to execute.
  template <class Call>
  void run(const char* name, Call&& call) const {
    size_t bytes = 0;
    check(call(nullptr, bytes), name);
    const std::unique_ptr<unsigned char, Free> temporary = allocate<unsigned char>(bytes == 0 ? 1 : bytes);
    check(call(temporary.get(), bytes), name);
    check(hipStreamSynchronize(stream_), name);
  }

  template <class T, class Transform>
  T reduce(Transform transform) const {
    const std::unique_ptr<T, Free> result = allocate<T>(1);
    const auto input = rocprim::make_transform_iterator(samples_, transform);
    run("rocprim::reduce", [&](void* temporary, size_t& bytes) {
      return rocprim::reduce(temporary, bytes, input, result.get(), T{0}, count_, rocprim::plus<T>(), stream_);
    });
    return fetch(result.get(), 1).front();
  }

  template <class T>
  std::vector<T> fetch(const T* from, size_t count) const {
    std::vector<T> values(count);
    check(hipMemcpyAsync(values.data(), from, count * sizeof(T), hipMemcpyDeviceToHost, stream_), "hipMemcpyAsync");
    check(hipStreamSynchronize(stream_), "hipStreamSynchronize");
    return values;
  }

  const uint64_t* samples_;
  size_t count_;
  hipStream_t stream_;
  std::unique_ptr<uint64_t, Free> sorted_;
};

/// Statistics of samples in GPU memory; throws Error with the runtime's message.
inline SampleFigures figures_of_gpu(const uint64_t* samples, size_t count, hipStream_t stream = nullptr) {
  return figures_of(GpuSamples(samples, count, stream));
}

/// @}
}  // namespace host

XIO_NAMESPACE_END

#endif
