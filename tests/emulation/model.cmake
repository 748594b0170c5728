# SPDX-License-Identifier: MIT
# The in-process NVMe controller against hand-written commands; knows nothing of the device code.

xio_add_test(emulation/model_registers)
xio_add_test(emulation/model_admin)
xio_add_test(emulation/model_io)
xio_add_test(emulation/model_pointers)
xio_add_test(emulation/model_doorbells)
xio_add_test(emulation/model_faults)
xio_add_test(emulation/model_statistics)
xio_add_test(emulation/model_threaded)
