// SPDX-License-Identifier: MIT
// docs/vfio.md: the block includes what it needs, and so stands in a file of its own.
// block 1
