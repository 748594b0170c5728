# SPDX-License-Identifier: MIT
# Controllers by vfio, without a device: the kernel is played.
xio_add_test(unit/host_vfio)
xio_register_test(NAME unit.xio_bind LABELS unit COMMAND ${XIO_TESTS_DIR}/unit/xio_bind.sh)
# What doctor finds, likewise.
if(TARGET xio-tester-tool)
  xio_add_test(unit/tester_doctor LIBS xio-tester-tool)
endif()
