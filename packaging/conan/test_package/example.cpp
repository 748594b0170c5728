// SPDX-License-Identifier: MIT
#include <cstdio>

#include <xio/xio.hpp>

int main() {
  std::printf("xio %d.%d.%d from Conan\n", XIO_VERSION_MAJOR, XIO_VERSION_MINOR, XIO_VERSION_PATCH);
  return xio::Status{}.is_ok() ? 0 : 1;
}
