// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief How the submission path turns what a caller passes as data into a data pointer.
///
/// | a caller passes                       | and gets                                                     |
/// |---------------------------------------|--------------------------------------------------------------|
/// | a piece of a Region, `region.at(…)`   | PRPs; refused where it is not inside, or not what is moved   |
/// | a page source (pages.hpp)             | PRPs, with a list where more than two pages are spanned      |
/// | `as_sgl(source)`                      | an SGL: one descriptor, or a list where the pieces are apart |
/// | a DataPointer                         | that, as it is                                               |
/// | NoData                                | none                                                         |
///
/// The first two need to know how much data the command moves (CommandWords::data); where it moves none, they give
/// none.

#include <xio/device/core/region.hpp>
#include <xio/device/queue/policy.hpp>
#include <xio/vendors/nvme/prp.hpp>
#include <xio/vendors/nvme/sgl.hpp>

XIO_NAMESPACE_BEGIN

namespace nvme {

/// For commands that move no data.
struct NoData {};

/// A page source that is to be described by an SGL.
template <class Pages>
struct Sgl {
  Pages pages;
};

/// Describes `pages` by an SGL instead of PRPs; the controller must offer SGLs (Identify Controller, SGLS).
template <class Pages>
XIO_DEVICE constexpr Sgl<Pages> as_sgl(const Pages& pages) {
  return {pages};
}

namespace detail {

/// What is no place for data: bare numbers and addresses, of which nobody knows how far they reach.
template <class T>
constexpr bool is_number =
    IsSame<T, int>::value || IsSame<T, unsigned>::value || IsSame<T, long>::value || IsSame<T, unsigned long>::value ||
    IsSame<T, long long>::value || IsSame<T, unsigned long long>::value;
template <class T>
constexpr bool is_number<T*> = true;

/// Whether it is known how much data a command moves that is submitted with `Pages`. Whoever passes a data pointer, or
/// NoData with a command that the library does not know, answers for it himself.
template <class Pages>
XIO_DEVICE_INLINE constexpr bool is_told(const CommandWords& command) {
  if constexpr (IsSame<Pages, DataPointer>::value) {
    return command.data != data_size::impossible;
  } else if constexpr (IsSame<Pages, NoData>::value) {
    return command.data == 0 || command.data == data_size::unknown;
  } else {
    return command.data <= data_size::largest || command.data == data_size::of_blocks;
  }
}

/// Whether it is known already where the data lies.
template <class Pages>
struct IsReady : IsSame<Pages, DataPointer> {};

/// Whether there is data to be found: the entry of a command without any names none.
template <class Pages>
XIO_DEVICE_INLINE constexpr bool has_data(const CommandWords& command) {
  return IsReady<Pages>::value || (!IsSame<Pages, NoData>::value && command.data != 0);
}

/// List memory of a submission: plain stores where a release follows, stores through the cache where none does.
/// `InStep`: many lanes build at once.
template <class Policy, bool InStep>
struct PublishedList {
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

/// A page source of which it is known where the data lies, unless that takes a list.
template <class Pages>
struct Prepared {
  const Pages& pages;
  DataPointer data;
  bool needs_list;
};
template <class Pages>
struct IsReady<Prepared<Pages>> {
  static constexpr bool value = true;
};

/// List memory that is only asked whether the list would fit.
struct RehearsedList {
  uint64_t bus;
  uint32_t bytes;

  XIO_HOST_DEVICE constexpr void put(uint32_t, uint64_t) const {}
};

template <class Pages, class List>
XIO_DEVICE_INLINE Status point(const Pages& pages, uint64_t offset, uint32_t bytes, uint32_t page_shift,
                               const List& list, DataPointer& data) {
  return build_prps(pages, offset, bytes, page_shift, list, data);
}

template <class Pages, class List>
XIO_DEVICE_INLINE Status point(const Sgl<Pages>& sgl, uint64_t offset, uint32_t bytes, uint32_t page_shift,
                               const List& list, DataPointer& data) {
  return build_sgl(sgl.pages, offset, bytes, page_shift, list, data);
}

template <class List>
XIO_DEVICE_INLINE Status point(const DataPointer& given, uint64_t offset, uint32_t, uint32_t, const List&,
                               DataPointer& data) {
  data = given;
  return offset == 0 ? Status::ok : Status::invalid_argument;
}

template <class Pages, class List>
XIO_DEVICE_INLINE Status point(const Prepared<Pages>& prepared, uint64_t offset, uint32_t bytes, uint32_t page_shift,
                               const List& list, DataPointer& data) {
  if (XIO_UNLIKELY(prepared.needs_list)) return point(prepared.pages, offset, bytes, page_shift, list, data);
  data = prepared.data;
  return Status::ok;
}

template <class List>
XIO_DEVICE_INLINE Status point(const NoData&, uint64_t, uint32_t, uint32_t, const List&, DataPointer&) {
  return Status::ok;
}

}  // namespace detail

}  // namespace nvme

XIO_NAMESPACE_END
