# SPDX-License-Identifier: MIT
# Against QEMU's controller; without QEMU these end with 77.

# The host side.
xio_sanitized_sources(sources THREAD host_start ADDRESS host_drives host_failure host_admin host_queues host_metadata host_namespaces host_qemu10)
xio_add_tests(qemu host SOURCES ${sources})

# Faults, hazards and heavy traffic on its controller, through the device API.
if(XIO_BUILD_PROTOCOL_TESTS)
  xio_sanitized_sources(sources ADDRESS hazards faults_media faults_commands faults_namespaces cache)
  xio_add_tests(qemu protocol LABELS protocol TIMEOUT 300 SOURCES ${sources})
  # Many threads, whose data others test.
  if(NOT XIO_SANITIZE MATCHES address)
    xio_add_test(qemu/stress OPTIMISE -O1 OWN_MAIN NO_TEST)
    xio_register_test(NAME qemu.stress LABELS qemu protocol TIMEOUT 300 COMMAND qemu-stress 5)
    xio_register_test(NAME qemu.stress_long LABELS qemu slow nightly TIMEOUT 600 COMMAND qemu-stress 30)
  endif()
endif()

# xio-tester.
if(TARGET xio-tester)
  foreach(name matrix functional smart stripes swapped image bad_input stop tools)
    xio_register_test(NAME qemu.tester_${name} LABELS qemu TIMEOUT 600
      COMMAND ${XIO_TESTS_DIR}/qemu/tester_${name}.sh $<TARGET_FILE:xio-tester>)
  endforeach()
  # It waits most of its time: begun early, so that others run beside it.
  set_tests_properties(qemu.tester_stop PROPERTIES COST 500)
endif()
if(TARGET example-read_blocks)
  xio_register_test(NAME qemu.tester_examples LABELS qemu examples TIMEOUT 600
    COMMAND ${XIO_TESTS_DIR}/qemu/tester_examples.sh $<TARGET_FILE_DIR:example-read_blocks>
    NEEDS example-read_blocks example-write_verify example-wave_batch example-checksum_file example-zone_log)
endif()
