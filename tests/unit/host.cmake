# SPDX-License-Identifier: MIT
# The host side, without any device.
xio_add_test(unit/host_memory)
xio_add_test(unit/host_doorbell_proxy)
xio_add_test(unit/host_child_process)
xio_add_test(unit/host_qemu_options)
xio_add_test(unit/host_qemu_channel)
xio_add_test(unit/host_queue_plan)
xio_add_test(unit/host_controller)
xio_add_test(unit/host_controller_queues)
