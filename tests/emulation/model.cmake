# SPDX-License-Identifier: MIT
# The in-process NVMe controller against hand-written commands; knows nothing of the device code.

xio_sanitized_sources(sources BOTH model_doorbells model_threaded
  ADDRESS model_registers model_admin model_io model_pointers model_faults model_statistics model_strict)
xio_add_tests(emulation model SOURCES ${sources})
