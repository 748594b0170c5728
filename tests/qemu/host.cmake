# SPDX-License-Identifier: MIT
# The host side against QEMU's controller; without QEMU these end with 77.
xio_add_tests(qemu host SOURCES host_start host_admin host_queues host_metadata host_failure host_qemu10)
