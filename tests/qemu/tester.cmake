# SPDX-License-Identifier: MIT
# xio-tester against QEMU's controller; without QEMU these end with 77.
if(TARGET xio-tester)
  foreach(name matrix functional swapped image bad_input stop tools)
    xio_register_test(NAME qemu.tester_${name} LABELS qemu TIMEOUT 600
      COMMAND ${XIO_TESTS_DIR}/qemu/tester_${name}.sh $<TARGET_FILE:xio-tester>)
  endforeach()
  # It waits most of its time: begun early, so that others run beside it.
  set_tests_properties(qemu.tester_stop PROPERTIES COST 500)
endif()
if(TARGET example-read_blocks)
  xio_register_test(NAME qemu.tester_examples LABELS qemu examples TIMEOUT 600
    COMMAND ${XIO_TESTS_DIR}/qemu/tester_examples.sh $<TARGET_FILE_DIR:example-read_blocks>)
endif()
