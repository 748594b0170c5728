# SPDX-License-Identifier: MIT
# The host side against QEMU's controller; without QEMU these end with 77.
xio_sanitized_sources(sources THREAD host_start ADDRESS host_failure host_admin host_queues host_metadata host_namespaces host_qemu10)
xio_add_tests(qemu host SOURCES ${sources})
