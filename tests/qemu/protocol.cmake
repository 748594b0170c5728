# SPDX-License-Identifier: MIT
if(NOT XIO_BUILD_PROTOCOL_TESTS)
  return()
endif()
# Faults, hazards and heavy traffic on QEMU's controller, through the device API; without QEMU these end with 77.
xio_sanitized_sources(sources ADDRESS hazards faults_media faults_commands faults_namespaces)
xio_add_tests(qemu protocol LABELS protocol TIMEOUT 300 SOURCES ${sources})
# Many threads, whose data others test.
if(XIO_SANITIZE MATCHES address)
  return()
endif()
xio_add_test(qemu/stress OPTIMISE -O1 OWN_MAIN NO_TEST)
xio_register_test(NAME qemu.stress LABELS qemu protocol TIMEOUT 300 COMMAND qemu-stress 5)
xio_register_test(NAME qemu.stress_long LABELS qemu slow nightly TIMEOUT 600 COMMAND qemu-stress 30)
