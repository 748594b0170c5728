# SPDX-License-Identifier: MIT
# The scripts that build and test: what they do to build folders, and which tests they repeat.
foreach(name configure progress retry)
  xio_register_test(NAME scripts.${name} LABELS scripts once TIMEOUT 600
    COMMAND ${XIO_TESTS_DIR}/scripts/${name}.sh ${PROJECT_SOURCE_DIR})
endforeach()
xio_register_test(NAME scripts.readme_code LABELS scripts once
  COMMAND ${XIO_TESTS_DIR}/scripts/readme_code.py ${PROJECT_SOURCE_DIR})
# Each build folder that a user may leave behind costs a few seconds.
xio_register_test(NAME scripts.configure_all LABELS scripts once nightly TIMEOUT 1200
  COMMAND ${XIO_TESTS_DIR}/scripts/configure.sh ${PROJECT_SOURCE_DIR} --all)
# The page's programs are compiled for the CPU by day, for GPUs at night.
set(kinds "")
if(NOT XIO_HIP_MISSING)
  list(APPEND kinds amd)
endif()
set(compilers "$ENV{PATH}")
if(NOT XIO_NVCC_MISSING)
  list(APPEND kinds nvidia)
  get_filename_component(folder ${XIO_NVCC} DIRECTORY)
  string(APPEND compilers ":${folder}")
endif()
xio_register_test(NAME scripts.getting_started LABELS scripts qemu once TIMEOUT 600
  COMMAND ${XIO_TESTS_DIR}/scripts/getting_started.py ${PROJECT_SOURCE_DIR})
xio_register_test(NAME scripts.getting_started_gpu LABELS scripts qemu once nightly TIMEOUT 600
  COMMAND ${CMAKE_COMMAND} -E env "PATH=${compilers}" ${XIO_TESTS_DIR}/scripts/getting_started.py ${PROJECT_SOURCE_DIR} ${kinds})
