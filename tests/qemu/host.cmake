# SPDX-License-Identifier: MIT
# The host side against QEMU's controller; without QEMU these end with 77.
xio_add_test(qemu/host_start)
xio_add_test(qemu/host_admin)
xio_add_test(qemu/host_queues)
xio_add_test(qemu/host_failure)
xio_add_test(qemu/host_qemu10)
