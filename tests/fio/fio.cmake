# SPDX-License-Identifier: MIT
# The engine of fio, in the fio that is installed; without it, or without its headers, these are left out or end with 77.
if(TARGET xio_fio)
  foreach(controller IN ITEMS emulated qemu)
    xio_register_test(NAME fio.jobs_${controller} LABELS fio once TIMEOUT 300
      COMMAND ${XIO_TESTS_DIR}/fio/jobs.py $<TARGET_FILE:xio_fio> ${controller}:size=1G)
  endforeach()
  xio_register_test(NAME fio.errors LABELS fio qemu once TIMEOUT 300 COMMAND ${XIO_TESTS_DIR}/fio/errors.py $<TARGET_FILE:xio_fio>)
  xio_register_test(NAME fio.faults LABELS fio once nightly TIMEOUT 1800
    COMMAND ${XIO_TESTS_DIR}/fio/errors.py $<TARGET_FILE:xio_fio> 1000000)
  xio_register_test(NAME fio.drive LABELS fio qemu once TIMEOUT 300 COMMAND ${XIO_TESTS_DIR}/fio/drive.py $<TARGET_FILE:xio_fio>)
endif()
