// SPDX-License-Identifier: MIT
#include <xio/xio.hpp>

int writer_version();
int writer_version() { return XIO_VERSION; }
