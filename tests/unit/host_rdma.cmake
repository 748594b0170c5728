# SPDX-License-Identifier: MIT
# The host side of RDMA, as far as it needs no device.
xio_add_test(unit/host_rdma_exchange)
xio_add_test(unit/host_rdma_gid)
xio_add_test(unit/host_rdma_rings)
