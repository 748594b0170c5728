# SPDX-License-Identifier: MIT

xio_register_tool_test("" NAME codegen.isa_count LABELS codegen COMMAND ${XIO_CODEGEN_DIR}/isa_count_test.py)
xio_register_tool_test("" NAME codegen.spills_test LABELS codegen COMMAND ${XIO_CODEGEN_DIR}/spills_test.py)
