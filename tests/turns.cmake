# SPDX-License-Identifier: MIT
# Tests that take long and resemble each other: each day some of a row, the next day the next, and at night all. A test that is not registered
# here (a tool is missing, or the configuration is another one) is passed over.

# xio_take_turns("<tests>"...): the tests of the first day of a row, of the second, and so on
function(xio_take_turns)
  xio_day(day)
  math(EXPR today "${day} % ${ARGC}")
  math(EXPR last "${ARGC} - 1")
  foreach(turn RANGE ${last})
    if(turn EQUAL today)
      continue()
    endif()
    foreach(name IN LISTS ARGV${turn})
      if(TEST ${name})
        set_property(TEST ${name} APPEND PROPERTY LABELS nightly)
      endif()
    endforeach()
  endforeach()
endfunction()

# The longest three, each on a day whose kernels of scenarios (tests/machine) are soon compiled.
xio_take_turns("guest.kernel_shared" "" "guest.vfio" "" "guest.tester_rdma" "")
xio_take_turns("guest.rxe_queue_pair" "guest.rxe_raw;guest.rxe_nodes")
# The same tool on another played GPU, or with another controller.
xio_take_turns("machine.tester.sm_90" "machine.tester.gfx942;machine.tester_qemu.sm_90" "machine.tester_qemu.gfx942")
xio_take_turns("fio.gpu_qemu.gfx942" "fio.gpu_emulated.sm_90")
xio_take_turns("machine.litmus.gfx942" "machine.litmus.gfx1201")
xio_take_turns("emulation.tester_rdma_runs" "emulation.tester_nodes;emulation.vendors")
# Headers by another compiler, and programs that are only compiled: others of these targets are compiled each day.
xio_take_turns("headers.host" "headers.gfx942;headers.nvrtc" "headers.cxx20;headers.gfx1201")
xio_take_turns("headers.hip_host.gfx942" "headers.hiprtc.gfx942;headers.hiprtc.gfx1201")
xio_take_turns("gpu.orderings.compile.gfx942" "gpu.scaling.compile.gfx942" "gpu.throughput.compile.gfx942")
xio_take_turns("abi.build.host" "codegen.resources.sm_90;examples.kernels.gfx942" "codegen.spills")
xio_take_turns("docs.typed.getting_started" "docs.typed.laboratory" "docs.typed.today")
xio_take_turns("install.components;python.examples.small" "install.consumer;python.package")
# Of the sizes of a wave that no sanitizer runs, the cases of NVMe or those of RDMA have one a day; of the one size that both sanitizers
# run, each has half of the cases.
if(XIO_SANITIZE MATCHES "thread")
  xio_take_turns("executors.rdma.cpu32;executors.fabrics.cpu32" "executors.nvme.cpu32;executors.key_values.cpu32")
elseif(XIO_SANITIZE)
  xio_take_turns("executors.nvme.cpu32;executors.key_values.cpu32" "executors.rdma.cpu32;executors.fabrics.cpu32")
else()
  xio_take_turns("executors.nvme.cpu8" "executors.rdma.cpu64" "executors.nvme.cpu64" "executors.rdma.cpu8")
endif()
