// SPDX-License-Identifier: MIT

/// @file
/// @brief The tests of wave operations and failures again, with fibres that switch by ucontext.

#define XIO_FIBRE_UCONTEXT 1

#include "unit/simt.cpp"
#include "unit/simt_failures.cpp"
