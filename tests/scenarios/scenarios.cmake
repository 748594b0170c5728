# SPDX-License-Identifier: MIT
# Which calls the scenarios' kernels make: the compiler instantiated them for the CPU. Which rows the explorer runs.

if(TARGET executors-cpu AND NOT XIO_SANITIZE)
  xio_register_test(NAME scenarios.matrix LABELS scenarios once
    COMMAND ${XIO_TESTS_DIR}/scenarios/matrix.py ${PROJECT_SOURCE_DIR} $<TARGET_FILE:executors-explorer> "$<TARGET_OBJECTS:executors-cpu>")
endif()
