# SPDX-License-Identifier: MIT
# Queues beside the kernel's driver, in guests as those of guest.cmake.
if(XIO_SANITIZE OR NOT TARGET xio-tester)
  return()
endif()
xio_add_test(guest/kernel_shared_recovery NO_TEST)
set(programs $<TARGET_FILE:xio-tester> $<TARGET_FILE:guest-kernel_shared_recovery>)
xio_register_test(NAME guest.kernel_shared LABELS guest once TIMEOUT 600 LOCK guest
  COMMAND ${XIO_TESTS_DIR}/guest/kernel_shared.sh ${programs})
xio_register_test(NAME guest.kernel_shared_full LABELS guest once nightly TIMEOUT 1800 LOCK guest
  COMMAND ${XIO_TESTS_DIR}/guest/kernel_shared.sh --long ${programs})
