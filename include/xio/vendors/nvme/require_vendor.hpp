// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief Members that the traits of NVMe (nvme::Traits) must have, checked when a queue uses them.
///
/// | static member                         | meaning                                                  |
/// |---------------------------------------|----------------------------------------------------------|
/// | `name`                                | name for messages                                        |
/// | `Entry`, `Completion`                 | an entry of either ring, in its memory layout            |
/// | `is_new(entry, lap)`, `status(entry)` | state of a copy of a completion                          |
/// | `Completions`                         | access to completions in the ring, for the protocol      |
/// |                                       | (device/nvme/drain.hpp): `Entry`, `look`,                |
/// |                                       | `observe`, `valid`, `key`, `status`, `is_error`,         |
/// |                                       | `result`, `decode`                                       |

#include <xio/device/core/status.hpp>
#include <xio/vendors/member.hpp>

XIO_NAMESPACE_BEGIN

namespace nvme {
/// @addtogroup vendors_nvme
/// @{

/// Detectors of the members that require_vendor() requires.
namespace required {
/// @addtogroup vendors_nvme
/// @{

template <class V>
using Name = decltype(V::name);
template <class V>
using EntrySize = member::Constant<sizeof(typename V::Entry) == 64>;
template <class V>
using IsNew = decltype(V::is_new(member::made<const typename V::Completion&>(), uint64_t{}));
template <class V>
using GetStatus = decltype(V::status(member::made<const typename V::Completion&>()));

template <class V>
using SameEntry = member::Constant<IsSame<typename V::Completions::Entry, typename V::Completion>::value>;
template <class V>
using Look = decltype(V::Completions::look(member::made<const typename V::Completions::Entry*>()));
template <class V>
using Observe = decltype(V::Completions::observe(member::made<const typename V::Completions::Entry*>()));
template <class V>
using Result = decltype(V::Completions::result(member::made<const typename V::Completions::Entry*>()));
template <class V>
using Valid = decltype(V::Completions::valid(uint64_t{}, bool{}));
template <class V>
using Key = decltype(V::Completions::key(uint64_t{}));
template <class V>
using StatusBits = decltype(V::Completions::status(uint64_t{}));
template <class V>
using IsError = decltype(V::Completions::is_error(uint64_t{}));
template <class V>
using Decode = decltype(V::Completions::decode(uint16_t{}));

/// Fails to compile, with a message per member, if a member of NVMe's traits is missing or has the wrong type; see the
/// table above. Returns true.
template <class V>
XIO_HOST_DEVICE constexpr bool require_vendor() {
  using member::is;
  using member::is_set;
  static_assert(is<Name, V, const char* const>, "NVMe vendor: name must be a static constexpr const char*");
  static_assert(is_set<EntrySize, V>, "NVMe vendor: Entry must be a type of 64 bytes");
  static_assert(is<IsNew, V, bool>, "NVMe vendor: is_new(entry, lap) must return a bool");
  static_assert(is<GetStatus, V, Status>, "NVMe vendor: status(entry) must return a Status");
  static_assert(is_set<SameEntry, V>, "NVMe vendor: Completions::Entry must be Completion");
  static_assert(is<Look, V, uint64_t>, "NVMe vendor: Completions::look(entry) must return a uint64_t");
  static_assert(is<Observe, V, uint64_t>, "NVMe vendor: Completions::observe(entry) must return a uint64_t");
  static_assert(is<Result, V, uint64_t>, "NVMe vendor: Completions::result(entry) must return a uint64_t");
  static_assert(is<Valid, V, bool>, "NVMe vendor: Completions::valid(word, phase) must return a bool");
  static_assert(is<Key, V, uint32_t>, "NVMe vendor: Completions::key(word) must return a uint32_t");
  static_assert(is<StatusBits, V, uint64_t>, "NVMe vendor: Completions::status(word) must return a uint64_t");
  static_assert(is<IsError, V, bool>, "NVMe vendor: Completions::is_error(status) must return a bool");
  static_assert(is<Decode, V, Status>, "NVMe vendor: Completions::decode(status) must return a Status");
  return true;
}

/// @}
}  // namespace required

// A member of `required`, so that a program's own names in the outer namespace do not hide the detectors.
using required::require_vendor;

/// @}
}  // namespace nvme

XIO_NAMESPACE_END
