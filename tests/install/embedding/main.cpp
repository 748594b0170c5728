// SPDX-License-Identifier: MIT
#include <cstdio>

int reader_version();
int writer_version();

int main() {
  std::printf("%d and %d\n", reader_version(), writer_version());
  return reader_version() == writer_version() ? 0 : 1;
}
