// SPDX-License-Identifier: MIT
// docs/bitcode.md. Compiled for the CPU, where nothing is a device.
#define __attribute__(x)
// block 1
