# SPDX-License-Identifier: MIT
# Known mistakes, made on purpose in copies of the sources: the tests must notice each. That the list fits the sources is
# quickly checked, and a share of the mistakes is made each day, another one the next day; to make all takes minutes.

xio_register_test(NAME mutations.list LABELS mutations once COMMAND ${PROJECT_SOURCE_DIR}/scripts/mutations --list)
xio_register_test(NAME mutations.today LABELS mutations slow once TIMEOUT 900
  COMMAND ${PROJECT_SOURCE_DIR}/scripts/mutations -j 1 --share 200)
set_tests_properties(mutations.today PROPERTIES COST 300)  # among the longest, which begin first
xio_register_test(NAME mutations.all LABELS mutations nightly once TIMEOUT 3600 SERIAL
  COMMAND ${PROJECT_SOURCE_DIR}/scripts/mutations --work ${XIO_TESTS_BINARY_DIR}/mutations)
