// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief Conversion of the data argument of a submission into a data pointer.
///
/// | data argument                       | data pointer                                                        |
/// |-------------------------------------|---------------------------------------------------------------------|
/// | a piece of a Region, `region.at(…)` | PRPs; refused if not inside, or if its length is not the data size  |
/// | a page source (pages.hpp)           | PRPs, with a list if more than two pages are spanned                |
/// | `as_sgl(source)`                    | an SGL: one descriptor, or a list if the pieces are not contiguous  |
/// | a DataPointer                       | used unchanged                                                      |
/// | NoData                              | none                                                                |
///
/// The first two need the size of the command's data (CommandWords::data); if it is 0, the data pointer is empty.

#include <xio/device/core/policy.hpp>
#include <xio/device/core/region.hpp>
#include <xio/vendors/nvme/prp.hpp>
#include <xio/vendors/nvme/sgl.hpp>

XIO_NAMESPACE_BEGIN

namespace nvme {
/// @addtogroup kernel_nvme
/// @{

/// Data argument of commands that move no data.
struct NoData {};

/// A page source to be described by an SGL.
template <class Pages>
struct Sgl {
  Pages pages;
};

/// Describes `pages` by an SGL instead of PRPs. The controller must support SGLs (Identify Controller, SGLS).
template <class Pages>
XIO_DEVICE constexpr Sgl<Pages> as_sgl(const Pages& pages) {
  return {pages};
}

namespace detail {

/// Types rejected as data argument: bare numbers and addresses, which carry no length.
template <class T>
constexpr bool is_number =
    IsSame<T, int>::value || IsSame<T, unsigned>::value || IsSame<T, long>::value || IsSame<T, unsigned long>::value ||
    IsSame<T, long long>::value || IsSame<T, unsigned long long>::value;
template <class T>
constexpr bool is_number<T*> = true;

/// Whether the data size of a command submitted with `Pages` is known. A caller that passes a DataPointer, or NoData
/// with a command unknown to the library, is responsible for the size.
template <class Pages>
XIO_DEVICE_INLINE constexpr bool knows_size(const CommandWords& command) {
  if constexpr (IsSame<Pages, DataPointer>::value) {
    return command.data != data_size::impossible;
  } else if constexpr (IsSame<Pages, NoData>::value) {
    return command.data == 0 || command.data == data_size::unknown;
  } else {
    return command.data <= data_size::largest || command.data == data_size::of_blocks;
  }
}

/// Whether `Pages` is an encoded data pointer already.
template <class Pages>
struct IsReady : IsSame<Pages, DataPointer> {};

/// Whether the command's entry needs a data pointer.
template <class Pages>
XIO_DEVICE_INLINE constexpr bool has_data(const CommandWords& command) {
  return IsReady<Pages>::value || (!IsSame<Pages, NoData>::value && command.data != 0);
}

/// List memory of a submission: plain stores if a release follows, stores through the cache otherwise.
/// @tparam InStep whether many lanes build at the same time
/// @tparam Fits   whether the command was checked before: the list fits
template <class Policy, bool InStep, bool Fits>
struct PublishedList {
  static constexpr bool known_to_fit = Fits;
  uint64_t* words;
  uint64_t bus;
  uint32_t bytes;

  XIO_HOST_DEVICE void put(uint32_t index, uint64_t value) const {
    if constexpr (Policy::publication == Publication::write_through) {
      arch::store<arch::Scope::system>(words + index, value);
    } else {
      words[index] = value;
    }
  }
  XIO_DEVICE_INLINE static bool seldom(bool condition) { return InStep ? arch::seldom(condition) : condition; }
};

/// List memory that stores nothing: tests whether a list would fit in that of a slot, which begins a page or lies
/// within one (QueueHandle::lists_bus).
struct RehearsedList {
  static constexpr uint64_t bus = 0;
  uint32_t bytes;

  XIO_HOST_DEVICE constexpr void put(uint32_t, uint64_t) const {}
};

/// In place of list memory: the data is named by address and key, as a network card takes it.
struct KeyedData {
  uint32_t key;  ///< remote key of sources that have none of their own
};

/// Data pointer of a command without data.
template <class List>
XIO_DEVICE_INLINE constexpr DataPointer no_data() {
  if constexpr (IsSame<List, KeyedData>::value) {
    return sgl_keyed_data_block(0, 0, 0);
  } else {
    return {};
  }
}

template <class Source, class = void>
constexpr bool has_key = false;
template <class Source>
constexpr bool has_key<Source, decltype(void(member::made<const Source&>().key))> = true;

/// Key of the memory that a source describes.
template <class Pages>
XIO_DEVICE_INLINE uint32_t key_of(const Pages& pages, [[maybe_unused]] const KeyedData& data) {
  if constexpr (has_key<Pages>) {
    return pages.key;
  } else {
    return data.key;
  }
}

template <class Pages, class List>
XIO_DEVICE_INLINE Status point(const Pages& pages, uint64_t offset, uint32_t bytes, uint32_t page_shift,
                               const List& list, DataPointer& data) {
  if constexpr (IsSame<List, KeyedData>::value) {
    return build_keyed_sgl(pages, offset, bytes, page_shift, key_of(pages, list), data);
  } else {
    return build_prps(pages, offset, bytes, page_shift, list, data);
  }
}

template <class Pages, class List>
XIO_DEVICE_INLINE Status point(const Sgl<Pages>& sgl, uint64_t offset, uint32_t bytes, uint32_t page_shift,
                               const List& list, DataPointer& data) {
  if constexpr (IsSame<List, KeyedData>::value) {
    return point(sgl.pages, offset, bytes, page_shift, list, data);
  } else {
    return build_sgl(sgl.pages, offset, bytes, page_shift, list, data);
  }
}

template <class List>
XIO_DEVICE_INLINE Status point(const DataPointer& given, uint64_t offset, uint32_t, uint32_t, const List&,
                               DataPointer& data) {
  data = given;
  return offset == 0 ? Status::ok : Status::invalid_argument;
}

template <class List>
XIO_DEVICE_INLINE Status point(const NoData&, uint64_t, uint32_t, uint32_t, const List&, DataPointer&) {
  return Status::ok;
}

}  // namespace detail

/// @}
}  // namespace nvme

XIO_NAMESPACE_END
