// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief Whether a vendor has a member, and of which type: for the checks of require_vendor().
///
/// A member is named by an alias template, `template <class V> using X = decltype(V::x(…))` or `= Constant<V::x>`.

#include <xio/config.hpp>

XIO_NAMESPACE_BEGIN

namespace member {
/// @addtogroup vendors
/// @{

/// A value of a type, where nothing is evaluated.
template <class T>
XIO_HOST_DEVICE T made();

/// A constant member with its value.
template <auto Value>
struct Constant {};

/// void, for every type that exists.
template <class T>
struct Void {
  using type = void;
};

/// Whether `Member<V>` is there, and is `Type`.
template <template <class> class Member, class V, class Type, class = void>
constexpr bool is = false;
template <template <class> class Member, class V, class Type>
constexpr bool is<Member, V, Type, typename Void<Member<V>>::type> = IsSame<Member<V>, Type>::value;

/// Of a member that is a Constant: whether it is a bool, and whether that is true.
template <template <class> class Member, class V>
constexpr bool is_flag = is<Member, V, Constant<true>> || is<Member, V, Constant<false>>;
template <template <class> class Member, class V>
constexpr bool is_set = is<Member, V, Constant<true>>;

/// @}
}  // namespace member

XIO_NAMESPACE_END
