// SPDX-License-Identifier: MIT
#include <xio/xio.hpp>

int reader_version();
int reader_version() { return XIO_VERSION; }
