# SPDX-License-Identifier: MIT
# A sanitizer would see the same code of one thread many thousand times.
if(XIO_SANITIZE OR NOT XIO_BUILD_PROTOCOL_TESTS)
  return()
endif()
# The protocol code under the schedules of a few waves: as many as a limit allows, and 200 times as many at night.
foreach(name explorer protocol outcomes stalls rdma storm)
  xio_add_test(model/${name} LABELS protocol TIMEOUT 600 OPTIMISE -O1 DEFINITIONS XIO_INTERLEAVE=1)
endforeach()
foreach(name protocol outcomes stalls rdma)
  xio_register_test(NAME model.${name}_long LABELS model once nightly TIMEOUT 3600 COMMAND model-${name}
    ENVIRONMENT XIO_MODEL_FACTOR=200)
endforeach()
