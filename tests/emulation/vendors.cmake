# SPDX-License-Identifier: MIT
# xio-vendors: its figures against the cost contract. Times are not asserted.
if(TARGET xio-vendors)
  xio_register_test(NAME emulation.vendors LABELS emulation
    COMMAND ${XIO_TESTS_DIR}/emulation/vendors.sh $<TARGET_FILE:xio-vendors>)
endif()
