# SPDX-License-Identifier: MIT
if(NOT XIO_BUILD_PROTOCOL_TESTS)
  return()
endif()
# The queue protocol against the in-process controller. The tests instantiate it many times: they are compiled for speed of
# compilation, those with many waves a little better.

function(xio_add_protocol_test name optimisation)
  xio_add_test(emulation/protocol_${name} LABELS protocol TIMEOUT 300 OPTIMISE ${optimisation} ${ARGN})
endfunction()

foreach(name thread wave block grid)
  xio_add_protocol_test(${name} -O1)
endforeach()
foreach(name offsets polling deadlines order rows limits status transfers)
  xio_add_protocol_test(${name} -O0)
endforeach()
xio_add_protocol_test(counts -O0 DEFINITIONS XIO_COUNT_OPERATIONS=1)
xio_add_protocol_test(interleave -O1 DEFINITIONS XIO_INTERLEAVE=1)

xio_add_protocol_test(stress -O2 OWN_MAIN NO_TEST)
xio_register_test(NAME emulation.protocol_stress LABELS emulation protocol TIMEOUT 300
  COMMAND emulation-protocol_stress 100000)
xio_register_test(NAME emulation.protocol_stress_million LABELS emulation slow TIMEOUT 900
  COMMAND emulation-protocol_stress 1000000)
