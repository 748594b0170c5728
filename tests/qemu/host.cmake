# SPDX-License-Identifier: MIT
# The host side against QEMU's controller; without QEMU these end with 77.
xio_sanitized_sources(sources BOTH host_start host_failure ADDRESS host_admin host_queues host_metadata host_qemu10)
xio_add_tests(qemu host SOURCES ${sources})
