// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief A queue of a namespace that stores values under keys: Store, Retrieve, List, Delete and Exist.
///
/// @snippet kv_queue.cpp queue

#include <xio/device/nvme/queue.hpp>
#include <xio/vendors/nvme/encode_kv.hpp>
#include <xio/vendors/nvme/key_list.hpp>

XIO_NAMESPACE_BEGIN

namespace nvme {
namespace kv {
/// @addtogroup kernel_nvme
/// @{

/// One piece of a batch: a key, and its value in contiguous memory at bus address `bus`.
struct Piece {
  Key key;
  uint64_t bus;
  uint32_t bytes;  ///< size of the value or of the buffer, at most QueueHandle::max_bytes; ignored by remove and exist
};

/// As nvme::detail::check_piece(), which finds it by the type of the piece. Has no early return, so that a wave
/// executes it once.
template <class List>
XIO_DEVICE_INLINE nvme::detail::CheckedPiece check_piece(const QueueHandle& q, KvOpcode operation, const Piece& piece,
                                                         const List& list) {
  const bool moves = operation != KvOpcode::remove && operation != KvOpcode::exist;
  const uint32_t bytes = moves ? piece.bytes : 0;
  nvme::detail::CheckedPiece checked;
  checked.data = nvme::detail::no_data<List>();
  checked.command = detail::command(operation, piece.key, operation == KvOpcode::list ? 0 : 1, bytes, 0);
  const bool fits = checked.command.data == bytes && (q.max_bytes == 0 || bytes <= q.max_bytes);
  if (fits && bytes != 0)
    checked.fault = nvme::detail::point(ContiguousPages{piece.bus}, 0, bytes, q.page_shift, list, checked.data);
  if (!fits) checked.fault = Status::invalid_argument;
  // check: command set, of values
  if (q.command_set != static_cast<uint32_t>(CommandSet::key_value)) checked.fault = Status::unsupported;
  return checked;
}

/// A policy for namespaces that store values.
template <class Policy>
struct OfValues : Policy {
  static constexpr bool key_values = true;
};

/// A queue pair of a namespace with the Key Value Command Set. It has the calls of nvme::Queue: their commands with
/// blocks are refused with Status::unsupported, as is everything if the namespace has another command set. Lanes that
/// call together, tokens, deadlines and errors are as there.
///
/// | device's status            | Status            |
/// |----------------------------|-------------------|
/// | 85h Invalid Value Size     | `invalid_command` |
/// | 86h Invalid Key Size       | `invalid_command` |
/// | 87h KV Key Does Not Exist  | `unwritten`       |
/// | 88h Unrecovered Error      | `read_error`      |
/// | 89h Key Exists             | `conflict`        |
/// | 81h Capacity Exceeded      | `capacity`        |
///
/// @snippet kv_queue.cpp queue
///
/// @tparam S      as of nvme::Queue
/// @tparam Policy as of nvme::Queue
/// @tparam Holder as of nvme::Queue
template <Sharing S = Sharing::grid, class Policy = xio::Policy<>, class Holder = InMemory>
class Queue : public nvme::Queue<S, OfValues<Policy>, Holder> {
  using Base = nvme::Queue<S, OfValues<Policy>, Holder>;
  static_assert(Policy::inbound_in_order,
                "a namespace without blocks offers no Compare to flush inbound writes with: leave completions and data "
                "in the same memory");

 public:
  using Base::Base;
  using Base::submit_batch;
  using Base::transfer;
  using Base::wait;

  /// Stores all of `from` under a key, over the value that it has. For options of the command, submit
  /// nvme::kv::store().
  /// @return a token; refused with Status::invalid_argument if the key has no bytes, or more than 16, or the value
  ///         exceeds the controller's largest transfer, and with Status::out_of_range if `from` is not inside its
  ///         Region
  /// @snippet kv_queue.cpp queue
  template <class Until, class CallOptions = NoOptions>
  XIO_DEVICE_INLINE Token store(const Key& key, const RegionSpan& from, Until until,
                                const CallOptions& options = CallOptions()) {
    return this->submit(kv::store(key, from.length), from, until, options);
  }
  /// Fetches the value of a key into `to`; what is beyond its length is cut. wait() tells the size of the whole value.
  /// Refused like store().
  /// @snippet kv_queue.cpp queue
  template <class Until, class CallOptions = NoOptions>
  XIO_DEVICE_INLINE Token retrieve(const Key& key, const RegionSpan& to, Until until,
                                   const CallOptions& options = CallOptions()) {
    return this->submit(kv::retrieve(key, to.length), to, until, options);
  }
  /// Fetches as many keys as fit in `to`: `from` and those that follow in the device's order, or all from the first one
  /// if `from` has no bytes. A KeyList reads them.
  /// @snippet kv_queue.cpp list
  template <class Until, class CallOptions = NoOptions>
  XIO_DEVICE_INLINE Token list(const Key& from, const RegionSpan& to, Until until,
                               const CallOptions& options = CallOptions()) {
    return this->submit(kv::list(from, to.length), to, until, options);
  }
  /// Deletes a key and its value.
  /// @snippet kv_queue.cpp list
  template <class Until, class CallOptions = NoOptions>
  XIO_DEVICE_INLINE Token remove(const Key& key, Until until, const CallOptions& options = CallOptions()) {
    return this->submit(kv::remove(key), NoData{}, until, options);
  }
  /// Asks whether a key exists. The operation succeeds, or ends with Status::unwritten.
  /// @snippet kv_queue.cpp list
  template <class Until, class CallOptions = NoOptions>
  XIO_DEVICE_INLINE Token exist(const Key& key, Until until, const CallOptions& options = CallOptions()) {
    return this->submit(kv::exist(key), NoData{}, until, options);
  }

  /// Waits like wait(token, until), then tells the size of the whole value that a retrieve() found, in bytes; 0 if it
  /// failed. Returns Status::expired if the completion table no longer has it (Queue::result()): where many waves share
  /// a queue, keep the result (Options::keep()); bits 31:0 of it are the size.
  /// @snippet kv_queue.cpp queue
  XIO_DEVICE_INLINE Status wait(const Token& token, Deadline until, uint32_t& value_bytes) {
    uint64_t result = 0;
    Status status = Base::wait(token, until);
    if (status.is_ok()) status = this->result(token, result);
    value_bytes = static_cast<uint32_t>(result);
    return status;
  }

  /// Submits `count` pieces together as one operation, as nvme::Queue::submit_batch(). Sizes of values are not told.
  /// @snippet kv_queue.cpp batch
  template <class Until, class CallOptions = NoOptions>
  XIO_DEVICE Token submit_batch(KvOpcode operation, const Piece* pieces, uint32_t count, Until until,
                                const CallOptions& options = CallOptions()) {
    static_assert(Policy::notifications || !CallOptions::notifies, "notify() needs a policy with Notify");
    return in_whole_groups(this->engine_, [&](const Callers<S>& group) XIO_INLINE_LAMBDA {
      return nvme::detail::submit_batch(this->engine_, group, operation, pieces, count, until, options.notified());
    });
  }
  /// Moves any number of pieces through the queue and waits for all of them, as nvme::Queue::transfer().
  /// @snippet kv_queue.cpp batch
  template <class Used = Policy>
  XIO_DEVICE Status transfer(KvOpcode operation, const Piece* pieces, uint32_t count, Deadline until,
                             Notification& progress) {
    static_assert(Used::notifications, "transfer() needs a policy with Notify");
    return in_whole_groups(this->engine_, [&](const Callers<S>& group) XIO_INLINE_LAMBDA {
      return nvme::detail::transfer(this->engine_, group, operation, pieces, count, until, progress);
    });
  }
};

/// @}
}  // namespace kv
}  // namespace nvme

XIO_NAMESPACE_END
