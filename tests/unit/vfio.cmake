# SPDX-License-Identifier: MIT
# Controllers by vfio, and beside the kernel's driver, without a device: the kernel is played. libnvme finds this program's ioctl().
# One thread; and children that a signal ends hang under ThreadSanitizer.
if(NOT XIO_SANITIZE MATCHES thread)
  xio_sanitized_sources(sources ADDRESS host_vfio host_kernel_shared host_kernel_records host_kernel_use host_huge_page_limit host_namespaces host_revocable_mapping)
  xio_add_tests(unit host_kernel SOURCES ${sources})
  if(TARGET unit-host_kernel)
    set_target_properties(unit-host_kernel PROPERTIES ENABLE_EXPORTS ON)
  endif()
endif()
xio_register_test(NAME unit.xio_bind LABELS unit once COMMAND ${XIO_TESTS_DIR}/unit/xio_bind.sh)
# What doctor finds, likewise.
if(TARGET xio-tester-tool)
  xio_add_test(unit/tester_doctor LIBS xio-tester-tool
    DEFINITIONS XIO_FAKE_GPU="$<TARGET_FILE:fake-gpu-new>" XIO_FAKE_GPU_OLD="$<TARGET_FILE:fake-gpu-old>")
  add_dependencies(unit-tester_doctor fake-gpu-new fake-gpu-old)
endif()
