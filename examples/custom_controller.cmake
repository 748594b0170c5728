# SPDX-License-Identifier: MIT
xio_add_example(custom_controller ARGS emulated MUST_FAIL_ARGS tape)
