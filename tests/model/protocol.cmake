# SPDX-License-Identifier: MIT
# A sanitizer would see the same code of one thread many thousand times.
if(XIO_SANITIZE OR NOT XIO_BUILD_PROTOCOL_TESTS)
  return()
endif()
# The protocol code under the schedules of a few waves: as many as a limit allows, at night mostly all of them. With -Oz
# stacks hold few values that are no longer used, and so there are fewer states.
foreach(name explorer protocol outcomes requests stalls rdma fabric storm cache)
  xio_add_test(model/${name} LABELS protocol TIMEOUT 600 OPTIMISE -Oz DEFINITIONS XIO_INTERLEAVE=1)
endforeach()

# The test cases whose name matches a pattern of Catch2; the largest search has 20 million states.
function(xio_explore_at_night program name pattern)
  xio_register_test(NAME model.${program}_night.${name} LABELS model once nightly TIMEOUT 7200 LOCK memory
    COMMAND model-${program} ${pattern} ENVIRONMENT XIO_MODEL_NIGHT=1)
endfunction()
xio_explore_at_night(protocol puts "H10*")
xio_explore_at_night(protocol shadow "H34*")
xio_explore_at_night(outcomes calls "*")
xio_explore_at_night(cache frame "*")
xio_explore_at_night(fabric waves "*")
set(number 0)
foreach(vendor IN LISTS XIO_RDMA_VENDORS)
  xio_explore_at_night(rdma ${vendor} "*Vendors - ${number}")
  math(EXPR number "${number} + 1")
endforeach()
xio_explore_at_night(rdma wrap "H2:*")
foreach(policy "default;*- xio::Policy<>" "impatient;*- Impatient" "deferred;*- Policy<Deferred<2>>")
  xio_explore_at_night(stalls ${policy})
endforeach()
