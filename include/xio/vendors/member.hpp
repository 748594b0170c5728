// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief Detection of a vendor's members and their types, for require_vendor().
///
/// A member is named by an alias template, `template <class V> using X = decltype(V::x(…))` or `= Constant<V::x>`.

#include <xio/config.hpp>

XIO_NAMESPACE_BEGIN

namespace member {
/// @addtogroup vendors
/// @{

/// A value of type `T` in unevaluated operands, as std::declval.
template <class T>
XIO_HOST_DEVICE T made();

/// A constant member, represented by its value.
template <auto Value>
struct Constant {};

/// void, for every type that exists.
template <class T>
struct Void {
  using type = void;
};

/// Whether `Member<V>` exists and is `Type`.
template <template <class> class Member, class V, class Type, class = void>
constexpr bool is = false;
template <template <class> class Member, class V, class Type>
constexpr bool is<Member, V, Type, typename Void<Member<V>>::type> = IsSame<Member<V>, Type>::value;

/// Whether a member that is a Constant is a bool (is_flag), and whether it is true (is_set).
template <template <class> class Member, class V>
constexpr bool is_flag = is<Member, V, Constant<true>> || is<Member, V, Constant<false>>;
template <template <class> class Member, class V>
constexpr bool is_set = is<Member, V, Constant<true>>;

/// @}
}  // namespace member

XIO_NAMESPACE_END
