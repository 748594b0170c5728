// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief Version of the library, for the preprocessor and for CMake (which reads this file).

/// @addtogroup kernel_core
/// @{

#define XIO_VERSION_MAJOR 0
#define XIO_VERSION_MINOR 2
#define XIO_VERSION_PATCH 0
#define XIO_VERSION (XIO_VERSION_MAJOR * 10000 + XIO_VERSION_MINOR * 100 + XIO_VERSION_PATCH)

/// Inline namespace of every symbol: two versions of the library can coexist in one program. It changes whenever the
/// layout of a queue handle or of its device-side state changes.
#ifndef XIO_ABI
#define XIO_ABI v2
#endif

/// ABI number stored in every queue handle by the host and compared by the receiving side.
#ifndef XIO_ABI_NUMBER
#define XIO_ABI_NUMBER 2
#endif

/// @}
