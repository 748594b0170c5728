# SPDX-License-Identifier: MIT
# The host side, without any device.
xio_add_tests(unit host
  SOURCES host_memory host_doorbell_proxy host_child_process host_qemu_options host_qemu_channel host_queue_plan host_controller
    host_controller_queues host_topology)
