# SPDX-License-Identifier: MIT
# xio-tester against QEMU's controller; without QEMU these end with 77.
if(TARGET xio-tester)
  foreach(name matrix functional swapped bad_input stop tools)
    xio_register_test(NAME qemu.tester_${name} LABELS qemu TIMEOUT 600
      COMMAND ${XIO_TESTS_DIR}/qemu/tester_${name}.sh $<TARGET_FILE:xio-tester>)
  endforeach()
endif()
