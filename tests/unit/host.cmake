# SPDX-License-Identifier: MIT
# The host side, without any device.
xio_sanitized_sources(sources BOTH host_memory host_doorbell_proxy host_qemu_channel host_controller_queues
  host_admin_queue host_controller_quirks host_wait host_queue_lists
  ADDRESS host_child_process host_fork host_files host_qemu_options host_queue_plan host_controller host_topology)
xio_add_tests(unit host SOURCES ${sources})
