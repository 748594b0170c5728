# SPDX-License-Identifier: MIT
# What the compiler refuses, and the advice that it gives.

xio_compile_fail_header(header xio/xio.hpp header)
# refused(<name> <number of the case> "regex" [flag...])
function(refused name number expected)
  xio_compile_fail_test(compile_fail/refused.cpp "${expected}" NAME compile_fail.${name} HEADER ${header} FLAGS -DCASE=${number} ${ARGN})
endfunction()

refused(policy_unknown 1 "unknown tag")
refused(policy_twice 2 "duplicate tag")
refused(policy_contradiction 3 "two tags contradict each other")
refused(policy_on_top 4 "a whole policy .* must come first")
refused(deferred_never 5 "ring after at least one entry")
refused(bare_number 6 "pass region.at")
refused(bare_pointer 7 "pass region.at")
refused(no_deadline 8 "no matching|candidate")
refused(notify 9 "need a policy with Notify")
refused(batch_notify 10 "need.? a policy with Notify")
refused(transfer_notify 11 "needs a policy with Notify")
refused(shared_session 12 "can live in registers")
refused(shared_process 13 "would deliver completions of other callers")
refused(late_data 14 "use wait\\(\\), which flushes inbound writes")
refused(late_rdma_data 15 "use wait\\(\\), which flushes inbound writes")
refused(shared_invalidate 16 "others could post in between")
refused(drive_set 17 "DriveSet needs Sharing::grid or Sharing::block")
refused(unused_status 18 "nodiscard|unused" -Werror)
refused(unused_token 19 "nodiscard|unused" -Werror)
refused(notify_wait 20 "are for submissions")
refused(shared_rdma_session 21 "can live in registers")
refused(two_registers_session 22 "must be kept in memory")
refused(vendor_of_queue_pair 23 "RDMA vendor: has_nop must be")
refused(vendor_of_receive_queue 24 "RDMA vendor: has_nop must be")
refused(rdma_notify 25 "queue pairs do not support notify")

refused(late_notify 26 "data may arrive after its notification")
refused(late_batch_notify 27 "data may arrive after its notification")
refused(late_receives 28 "a receive queue cannot flush inbound data")
refused(no_inline_data 29 "a RegionSpan of 8 bytes that hold the value")
refused(no_invalidate 30 "deregister the memory on the host")
refused(former_flush 31 "flush\\(\\) is now ring\\(\\)")
refused(former_rdma_flush 32 "flush\\(\\) is now ring\\(\\)")
refused(placed_elsewhere 33 "Placed with host memory contradicts InGpuMemory")
refused(base_elsewhere 34 "Placed with host memory contradicts InGpuMemory")
refused(drives_in_two_ways 35 "of RingBy a policy has one, for all drives of a set")

set(every_error "")
if(XIO_TESTS_CXX MATCHES clang)
  set(every_error -ferror-limit=0)
endif()
# Every call with every policy, sharing mode and vendor, as the documents have it.
xio_register_test(NAME compile_fail.table LABELS compile_fail
  COMMAND python3 ${XIO_TESTS_DIR}/compile_fail/table.py ${PROJECT_SOURCE_DIR}/docs/internals/refused-calls.md
    -- ${XIO_TESTS_CXX} -std=c++17 ${every_error} -I${PROJECT_SOURCE_DIR}/include)

# Every message of require_vendor(), each by a mistake of its own.
xio_register_test(NAME compile_fail.vendors LABELS compile_fail
  COMMAND ${XIO_TESTS_DIR}/compile_fail/every_message.sh ${XIO_TESTS_DIR}/compile_fail/vendors.cpp " vendor: "
    ${PROJECT_SOURCE_DIR}/include/xio/vendors/rdma/require_vendor.hpp
    -- ${XIO_TESTS_CXX} -std=c++17 ${every_error} -I${PROJECT_SOURCE_DIR}/include)

xio_register_tool_test("${XIO_HIP_MISSING}" NAME compile_fail.simt_on_gpu LABELS compile_fail
  COMMAND ${XIO_TESTS_DIR}/compile_fail/compile_fail.sh ${XIO_TESTS_DIR}/compile_fail/simt_on_gpu.cpp "call xio::host::launch"
    ${XIO_HIP_CLANG_PATH} -x hip -std=c++17 --hip-path=/usr --rocm-device-lib-path=${XIO_DEVLIBS} --cuda-host-only --offload-arch=gfx942
    -I${PROJECT_SOURCE_DIR}/include)
