# SPDX-License-Identifier: MIT
# Controllers by vfio, and beside the kernel's driver, without a device: the kernel is played. libnvme finds this program's ioctl().
set(kernel_tests host_vfio host_kernel_shared)
# Its children, which a signal ends, hang under ThreadSanitizer.
if(NOT XIO_SANITIZE STREQUAL "thread")
  list(APPEND kernel_tests host_revocable_mapping)
endif()
xio_add_tests(unit host_kernel SOURCES ${kernel_tests})
set_target_properties(unit-host_kernel PROPERTIES ENABLE_EXPORTS ON)
xio_register_test(NAME unit.xio_bind LABELS unit COMMAND ${XIO_TESTS_DIR}/unit/xio_bind.sh)
# What doctor finds, likewise.
if(TARGET xio-tester-tool)
  xio_add_test(unit/tester_doctor LIBS xio-tester-tool
    DEFINITIONS XIO_FAKE_GPU="$<TARGET_FILE:fake-gpu-new>" XIO_FAKE_GPU_OLD="$<TARGET_FILE:fake-gpu-old>")
  add_dependencies(unit-tester_doctor fake-gpu-new fake-gpu-old)
endif()
