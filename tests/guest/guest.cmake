# SPDX-License-Identifier: MIT
# Linux's soft-RoCE driver in a guest (scripts/guest), driven by entries that we store. Where the guest cannot be had
# these end with 77. A guest takes memory and processors: one after the other, and in one configuration.

if(XIO_SANITIZE)
  return()
endif()

# xio_guest_test(<name> TARGET target KIND loops|nodes): runs the program on the devices of rxe_devices.sh
function(xio_guest_test name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "TARGET;KIND" "")
  xio_register_test(NAME guest.${name} LABELS guest once TIMEOUT 400 LOCK guest
    COMMAND ${PROJECT_SOURCE_DIR}/scripts/guest --modules rdma_rxe,ib_uverbs,veth --limit 240 --
      ${XIO_TESTS_DIR}/guest/rxe_devices.sh ${arg_KIND} $<TARGET_FILE:${arg_TARGET}>)
endfunction()

xio_add_test(guest/rxe_raw NO_TEST)
xio_add_test(guest/rxe_nodes OWN_MAIN NO_TEST)
xio_add_test(guest/rxe_queue_pair NO_TEST)
xio_add_test(guest/vfio_recovery NO_TEST)
xio_add_test(guest/gpu_mapping NO_TEST DEFINITIONS
  XIO_FAKE_GPU="${XIO_TESTS_BINARY_DIR}/libfake-gpu-new.so" XIO_FAKE_GPU_OLD="${XIO_TESTS_BINARY_DIR}/libfake-gpu-old.so")
xio_guest_test(rxe_raw TARGET guest-rxe_raw KIND loops)
xio_guest_test(rxe_queue_pair TARGET guest-rxe_queue_pair KIND loops)
xio_guest_test(rxe_nodes TARGET guest-rxe_nodes KIND nodes)
# The kernel's own NVMe over RDMA, target and host.
xio_add_test(guest/nvmet NO_TEST)
xio_add_test(guest/fabric_capsules NO_TEST)
xio_add_test(guest/fabric_device_queue NO_TEST)
xio_register_test(NAME guest.nvmet LABELS guest once nightly TIMEOUT 400 LOCK guest
  COMMAND ${PROJECT_SOURCE_DIR}/scripts/guest --modules rdma_rxe,ib_uverbs,rdma_ucm,veth,nvmet,nvmet-rdma,nvme-rdma --limit 240 --
    ${XIO_TESTS_DIR}/guest/nvmet.sh $<TARGET_FILE:guest-nvmet>)
xio_register_test(NAME guest.fabric_device_queue LABELS guest once nightly TIMEOUT 400 LOCK guest
  COMMAND ${PROJECT_SOURCE_DIR}/scripts/guest --modules rdma_rxe,ib_uverbs,rdma_ucm,veth,loop,nvmet,nvmet-rdma --limit 340 --
    ${XIO_TESTS_DIR}/guest/nvmet.sh $<TARGET_FILE:guest-fabric_device_queue>)
xio_register_test(NAME guest.fabric_capsules LABELS guest once nightly TIMEOUT 400 LOCK guest
  COMMAND ${PROJECT_SOURCE_DIR}/scripts/guest --modules rdma_rxe,ib_uverbs,rdma_ucm,veth,nvme-rdma --limit 240 --
    ${XIO_TESTS_DIR}/guest/rxe_devices.sh loops $<TARGET_FILE:guest-fabric_capsules>)
if(TARGET xio-tester)
  set(tester_rdma ${PROJECT_SOURCE_DIR}/scripts/guest --modules rdma_rxe,ib_uverbs,veth --limit 540 --
    ${XIO_TESTS_DIR}/guest/rxe_devices.sh all ${XIO_TESTS_DIR}/guest/tester_rdma.sh)
  xio_register_test(NAME guest.tester_rdma LABELS guest once TIMEOUT 600 LOCK guest
    COMMAND ${tester_rdma} --corners $<TARGET_FILE:xio-tester>)
  xio_register_test(NAME guest.tester_rdma_full LABELS guest once nightly TIMEOUT 600 LOCK guest
    COMMAND ${tester_rdma} $<TARGET_FILE:xio-tester>)
  xio_register_test(NAME guest.tester_fabrics LABELS guest once nightly TIMEOUT 600 LOCK guest
    COMMAND ${PROJECT_SOURCE_DIR}/scripts/guest --modules rdma_rxe,ib_uverbs,rdma_ucm,veth,nvmet,nvmet-rdma --limit 540 --
      ${XIO_TESTS_DIR}/guest/nvmet.sh ${XIO_TESTS_DIR}/guest/tester_fabrics.sh $<TARGET_FILE:xio-tester>)
  xio_register_test(NAME guest.mpirun LABELS guest once nightly TIMEOUT 400 LOCK guest
    COMMAND ${PROJECT_SOURCE_DIR}/scripts/guest --modules rdma_rxe,ib_uverbs,veth --limit 340 --
      ${XIO_TESTS_DIR}/guest/rxe_devices.sh all ${XIO_TESTS_DIR}/guest/mpirun.sh $<TARGET_FILE:xio-tester>)
  xio_register_test(NAME guest.vfio LABELS guest once TIMEOUT 600 LOCK guest
    COMMAND ${XIO_TESTS_DIR}/guest/vfio.sh --corners $<TARGET_FILE:xio-tester> $<TARGET_FILE:guest-vfio_recovery>)
  xio_register_test(NAME guest.vfio_full LABELS guest once nightly TIMEOUT 600 LOCK guest
    COMMAND ${XIO_TESTS_DIR}/guest/vfio.sh $<TARGET_FILE:xio-tester> $<TARGET_FILE:guest-vfio_recovery>)
  # Makes a kernel first.
  xio_register_test(NAME guest.vfio_iommufd LABELS guest once nightly TIMEOUT 1500 LOCK guest
    COMMAND ${XIO_TESTS_DIR}/guest/vfio.sh --corners --iommufd $<TARGET_FILE:xio-tester> $<TARGET_FILE:guest-vfio_recovery>)
  xio_register_test(NAME guest.topology LABELS guest once nightly TIMEOUT 300 LOCK guest
    COMMAND ${XIO_TESTS_DIR}/guest/topology.sh $<TARGET_FILE:xio-tester>)
  # A guest each.
  foreach(kind bare group nobody queues)
    xio_register_test(NAME guest.doctor_${kind} LABELS guest once nightly TIMEOUT 400 LOCK guest
      COMMAND ${XIO_TESTS_DIR}/guest/doctor.sh $<TARGET_FILE:xio-tester> ${kind})
  endforeach()
  xio_register_test(NAME guest.bench LABELS guest once nightly TIMEOUT 600 LOCK guest
    COMMAND ${PROJECT_SOURCE_DIR}/scripts/bench-guest --check --tables side-by-side --seconds 0.2 --limit 540
      --output ${XIO_TESTS_BINARY_DIR}/bench-guest $<TARGET_FILE:xio-tester>)
  set(engine "")
  if(TARGET xio_fio)
    set(engine --engine $<TARGET_FILE:xio_fio>)
  endif()
  xio_register_test(NAME guest.bench_instructions LABELS guest once nightly TIMEOUT 1500 LOCK guest
    COMMAND ${PROJECT_SOURCE_DIR}/scripts/bench-guest --instructions --check --operations 4096 --limit 1440 ${engine}
      --output ${XIO_TESTS_BINARY_DIR}/bench-guest-instructions $<TARGET_FILE:xio-tester>)
  xio_register_test(NAME guest.bench_fabrics LABELS guest once nightly TIMEOUT 1500 LOCK guest
    COMMAND ${PROJECT_SOURCE_DIR}/scripts/bench-guest --fabrics --check --limit 1440
      --output ${XIO_TESTS_BINARY_DIR}/bench-guest-fabrics $<TARGET_FILE:xio-tester>)
  xio_register_test(NAME guest.bench_client LABELS guest once nightly TIMEOUT 400 LOCK guest
    COMMAND ${PROJECT_SOURCE_DIR}/scripts/bench-guest --client --check --runs 1 --seconds 0.5 --limit 340
      --output ${XIO_TESTS_BINARY_DIR}/bench-guest-client $<TARGET_FILE:xio-tester>)
  xio_register_test(NAME guest.gpu_memory LABELS guest once nightly TIMEOUT 400 LOCK guest
    COMMAND ${XIO_TESTS_DIR}/guest/gpu_memory.sh $<TARGET_FILE:xio-tester> ${XIO_TESTS_BINARY_DIR}/libfake-gpu-new.so
      $<TARGET_FILE:guest-gpu_mapping>)
  xio_register_test(NAME guest.gpu_memory_iommufd LABELS guest once nightly TIMEOUT 1500 LOCK guest
    COMMAND ${XIO_TESTS_DIR}/guest/gpu_memory.sh --iommufd $<TARGET_FILE:xio-tester> ${XIO_TESTS_BINARY_DIR}/libfake-gpu-new.so
      $<TARGET_FILE:guest-gpu_mapping>)
  set(tester $<TARGET_FILE:xio-tester>)
else()
  set(tester "")
endif()
if(TARGET xio_fio)
  xio_register_test(NAME guest.fio LABELS guest fio once nightly TIMEOUT 600 LOCK guest
    COMMAND ${XIO_TESTS_DIR}/guest/fio.sh $<TARGET_FILE:xio_fio>)
endif()
xio_register_test(NAME guest.perftest LABELS guest once nightly TIMEOUT 600 LOCK guest
  COMMAND ${XIO_TESTS_DIR}/guest/perftest.sh ${tester})
xio_register_test(NAME guest.perftest_instructions LABELS guest once nightly TIMEOUT 600 LOCK guest
  COMMAND ${XIO_TESTS_DIR}/guest/perftest.sh ${tester} ENVIRONMENT XIO_PERFTEST_INSTRUCTIONS=1)

# Queues beside the kernel's driver.
if(TARGET xio-tester)
  xio_add_test(guest/kernel_shared_recovery NO_TEST)
  set(programs $<TARGET_FILE:xio-tester> $<TARGET_FILE:guest-kernel_shared_recovery>)
  xio_register_test(NAME guest.kernel_shared LABELS guest once TIMEOUT 600 LOCK guest
    COMMAND ${XIO_TESTS_DIR}/guest/kernel_shared.sh ${programs})
  xio_register_test(NAME guest.kernel_shared_full LABELS guest once nightly TIMEOUT 1800 LOCK guest
    COMMAND ${XIO_TESTS_DIR}/guest/kernel_shared.sh --long ${programs})
endif()
