# SPDX-License-Identifier: MIT
# Known mistakes, made on purpose in copies of the sources: the tests must notice each. That the list fits the sources is
# quickly checked; to make all of them takes minutes.

xio_register_test(NAME mutations.list LABELS mutations once COMMAND ${PROJECT_SOURCE_DIR}/scripts/mutations --list)
xio_register_test(NAME mutations.all LABELS mutations nightly once TIMEOUT 3600 SERIAL
  COMMAND ${PROJECT_SOURCE_DIR}/scripts/mutations --work ${XIO_TESTS_BINARY_DIR}/mutations)
