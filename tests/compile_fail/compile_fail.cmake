# SPDX-License-Identifier: MIT
# What the compiler refuses, and the advice that it gives.

xio_compile_fail_test(compile_fail/refused.cpp "unknown tag" NAME compile_fail.policy_unknown FLAGS -DCASE=1)
xio_compile_fail_test(compile_fail/refused.cpp "duplicate tag" NAME compile_fail.policy_twice FLAGS -DCASE=2)
xio_compile_fail_test(compile_fail/refused.cpp "two tags contradict each other" NAME compile_fail.policy_contradiction FLAGS -DCASE=3)
xio_compile_fail_test(compile_fail/refused.cpp "a whole policy .* must come first" NAME compile_fail.policy_on_top FLAGS -DCASE=4)
xio_compile_fail_test(compile_fail/refused.cpp "ring after at least one entry" NAME compile_fail.deferred_never FLAGS -DCASE=5)
xio_compile_fail_test(compile_fail/refused.cpp "pass region.at" NAME compile_fail.bare_number FLAGS -DCASE=6)
xio_compile_fail_test(compile_fail/refused.cpp "pass region.at" NAME compile_fail.bare_pointer FLAGS -DCASE=7)
xio_compile_fail_test(compile_fail/refused.cpp "no matching|candidate" NAME compile_fail.no_deadline FLAGS -DCASE=8)
xio_compile_fail_test(compile_fail/refused.cpp "need a policy with Notify" NAME compile_fail.notify FLAGS -DCASE=9)
xio_compile_fail_test(compile_fail/refused.cpp "need.? a policy with Notify" NAME compile_fail.batch_notify FLAGS -DCASE=10)
xio_compile_fail_test(compile_fail/refused.cpp "needs a policy with Notify" NAME compile_fail.transfer_notify FLAGS -DCASE=11)
xio_compile_fail_test(compile_fail/refused.cpp "can live in registers" NAME compile_fail.shared_session FLAGS -DCASE=12)
xio_compile_fail_test(compile_fail/refused.cpp "would deliver completions of other callers" NAME compile_fail.shared_process FLAGS -DCASE=13)
xio_compile_fail_test(compile_fail/refused.cpp "use wait\\(\\), which flushes inbound writes" NAME compile_fail.late_data FLAGS -DCASE=14)
xio_compile_fail_test(compile_fail/refused.cpp "use wait\\(\\), which flushes inbound writes" NAME compile_fail.late_rdma_data FLAGS -DCASE=15)
xio_compile_fail_test(compile_fail/refused.cpp "others could post in between" NAME compile_fail.shared_invalidate FLAGS -DCASE=16)
xio_compile_fail_test(compile_fail/refused.cpp "DriveSet needs Sharing::grid or Sharing::block" NAME compile_fail.drive_set FLAGS -DCASE=17)
xio_compile_fail_test(compile_fail/refused.cpp "nodiscard|unused" NAME compile_fail.unused_status FLAGS -DCASE=18 -Werror)
xio_compile_fail_test(compile_fail/refused.cpp "nodiscard|unused" NAME compile_fail.unused_token FLAGS -DCASE=19 -Werror)
xio_compile_fail_test(compile_fail/refused.cpp "are for submissions" NAME compile_fail.notify_wait FLAGS -DCASE=20)
xio_compile_fail_test(compile_fail/refused.cpp "can live in registers" NAME compile_fail.shared_rdma_session FLAGS -DCASE=21)
xio_compile_fail_test(compile_fail/refused.cpp "must be kept in memory" NAME compile_fail.two_registers_session FLAGS -DCASE=22)
xio_compile_fail_test(compile_fail/refused.cpp "RDMA vendor: has_nop must be" NAME compile_fail.vendor_of_queue_pair FLAGS -DCASE=23)
xio_compile_fail_test(compile_fail/refused.cpp "RDMA vendor: has_nop must be" NAME compile_fail.vendor_of_receive_queue FLAGS -DCASE=24)
xio_compile_fail_test(compile_fail/refused.cpp "queue pairs do not support notify" NAME compile_fail.rdma_notify FLAGS -DCASE=25)

# Every message of require_vendor(), each by a mistake of its own.
xio_register_test(NAME compile_fail.vendors LABELS compile_fail
  COMMAND ${XIO_TESTS_DIR}/compile_fail/every_message.sh ${XIO_TESTS_DIR}/compile_fail/vendors.cpp " vendor: "
    ${PROJECT_SOURCE_DIR}/include/xio/vendors/rdma/require_vendor.hpp ${PROJECT_SOURCE_DIR}/include/xio/vendors/nvme/require_vendor.hpp
    -- ${CMAKE_CXX_COMPILER} -std=c++17 -I${PROJECT_SOURCE_DIR}/include)

xio_register_tool_test("${XIO_HIP_MISSING}" NAME compile_fail.simt_on_gpu LABELS compile_fail
  COMMAND ${XIO_TESTS_DIR}/compile_fail/compile_fail.sh ${XIO_TESTS_DIR}/compile_fail/simt_on_gpu.cpp "call xio::host::launch"
    ${XIO_HIP_CLANG_PATH} -x hip -std=c++17 --hip-path=/usr --rocm-device-lib-path=${XIO_DEVLIBS} --cuda-host-only --offload-arch=gfx942
    -I${PROJECT_SOURCE_DIR}/include)
