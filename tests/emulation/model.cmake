# SPDX-License-Identifier: MIT
# The in-process NVMe controller against hand-written commands; knows nothing of the device code.

xio_add_tests(emulation model
  SOURCES model_registers model_admin model_io model_pointers model_doorbells model_faults model_statistics model_strict model_threaded)
