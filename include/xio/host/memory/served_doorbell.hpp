// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief A doorbell word for kernels on the CPU: the ringing thread makes the call that the device needs.

#include <bitset>
#include <functional>
#include <mutex>
#include <string>
#include <utility>

#include <xio/config.hpp>
#include <xio/device/arch/arch.hpp>
#include <xio/device/arch/served_doorbells.hpp>
#include <xio/host/error.hpp>

XIO_NAMESPACE_BEGIN

namespace host {
/// @addtogroup host_memory
/// @{

/// One word of arch::served_doorbells, allocated during the lifetime of this object. Not movable.
///
/// Vendors whose traits set `doorbell_is_served` call the function after each store to the word, in the storing thread.
/// For GPUs, whose stores cannot call the function, see DoorbellProxy.
class ServedDoorbell {
 public:
  /// @param ring  called by any thread that runs kernels, one at a time for each queue; must not throw
  /// @throws Error if all words of the process are in use, or kernels are compiled for a GPU
  explicit ServedDoorbell(std::function<void()> ring) : ring_(std::move(ring)), index_(take()) {
    set([](void* self) { static_cast<ServedDoorbell*>(self)->ring_(); }, this);
  }
  /// The same with a plain function, which costs fewer instructions.
  ServedDoorbell(void (*ring)(void* context), void* context) : index_(take()) { set(ring, context); }
  ServedDoorbell(const ServedDoorbell&) = delete;
  ServedDoorbell& operator=(const ServedDoorbell&) = delete;
  ~ServedDoorbell() {
    Taken& all = taken();
    const std::lock_guard<std::mutex> lock(all.mutex);
    place().serve = nullptr;
    all.words.reset(index_);
  }

  uint32_t* word() { return &place().word; }

 private:
  static constexpr size_t count = sizeof arch::served_doorbells / sizeof arch::served_doorbells[0];

  struct Taken {
    std::mutex mutex;
    std::bitset<count> words;
  };
  static Taken& taken() {
    static Taken all;
    return all;
  }

  static size_t take() {
    if constexpr (!arch::doorbells_call)
      throw Error("kernels on a GPU cannot call the function that rings: let a separate thread ring");
    Taken& all = taken();
    const std::lock_guard<std::mutex> lock(all.mutex);
    for (size_t index = 0; index < count; ++index) {
      if (all.words.test(index)) continue;
      all.words.set(index);
      return index;
    }
    throw Error("all " + std::to_string(count) + " served doorbells of this process are in use; " +
                "let a separate thread serve more");
  }

  void set(void (*ring)(void* context), void* context) {
    place().word = 0;
    place().context = context;
    place().serve = ring;
  }
  arch::ServedDoorbell& place() const { return arch::served_doorbells[index_]; }

  std::function<void()> ring_;
  size_t index_;
};

/// @}
}  // namespace host

XIO_NAMESPACE_END
