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
  xio_register_test(NAME fio.zones LABELS fio qemu once TIMEOUT 300 COMMAND ${XIO_TESTS_DIR}/fio/zones.py $<TARGET_FILE:xio_fio>)
  # executor=gpu, whose kernels the engine carries, on a GPU that tests/machine plays.
  if(NOT XIO_TOOLS_MISSING)
    set(played_targets "")
    foreach(arch IN LISTS XIO_HIP_TARGETS)
      if(arch IN_LIST XIO_KERNELS_AMD)
        list(APPEND played_targets ${arch})
      endif()
    endforeach()
    if(XIO_KERNELS_NVIDIA)
      list(APPEND played_targets sm_90)
    endif()
    foreach(arch IN LISTS played_targets)
      foreach(controller IN ITEMS emulated qemu)
        set(labels fio once)
        # By day one AMD target and NVIDIA's, with one controller each.
        if(NOT "${arch} ${controller}" MATCHES "gfx942 qemu|sm_90 emulated")
          list(APPEND labels nightly)
        endif()
        xio_register_test(NAME fio.gpu_${controller}.${arch} LABELS ${labels} TIMEOUT 600
          COMMAND ${XIO_TESTS_DIR}/fio/gpu.py $<TARGET_FILE:xio_fio> ${XIO_TESTS_BINARY_DIR}/played-gpu ${arch} ${controller}:size=1G)
      endforeach()
      xio_register_test(NAME fio.gpu_faults.${arch} LABELS fio once nightly TIMEOUT 3600
        COMMAND ${XIO_TESTS_DIR}/fio/gpu.py $<TARGET_FILE:xio_fio> ${XIO_TESTS_BINARY_DIR}/played-gpu ${arch} emulated:size=1G 1000000)
      # What scripts/gpu does with the engine on a GPU.
      xio_register_test(NAME fio.gpu_jobs.${arch} LABELS fio once nightly TIMEOUT 1800
        COMMAND ${CMAKE_COMMAND} -E env LD_LIBRARY_PATH=${XIO_TESTS_BINARY_DIR}/played-gpu XIO_PLAYED_GPU=${arch} XIO_JOB_SECONDS=300
          ${XIO_TESTS_DIR}/gpu/fio_jobs.sh ${XIO_TESTS_BINARY_DIR}/fio-jobs-${arch} $<TARGET_FILE:xio_fio>)
    endforeach()
  endif()
endif()
