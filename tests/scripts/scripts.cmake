# SPDX-License-Identifier: MIT
# The scripts that build, test, fetch and pack: what they do to build folders, which tests they repeat, what an archive depends on.
foreach(name fio_engine pack_data progress retry)
  xio_register_test(NAME scripts.${name} LABELS scripts once TIMEOUT 600
    COMMAND ${XIO_TESTS_DIR}/scripts/${name}.sh ${PROJECT_SOURCE_DIR})
endforeach()
# Each build folder that a user may leave behind costs a few seconds. That of the demo, which .ci/run leaves to the tests, is seen by day.
xio_register_test(NAME scripts.configure_all LABELS scripts once nightly TIMEOUT 1200
  COMMAND ${XIO_TESTS_DIR}/scripts/configure.sh ${PROJECT_SOURCE_DIR} --all)
# Skipped where there is no history: in an archive, or a shallow clone.
xio_register_test(NAME scripts.commits LABELS scripts once COMMAND ${XIO_TESTS_DIR}/scripts/commits.py ${PROJECT_SOURCE_DIR})
