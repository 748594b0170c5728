# SPDX-License-Identifier: MIT
# Data of tests, which git keeps as one archive each; scripts/pack-data makes them.
#   xio_unpack(<archive> <folder>): unpacks the archive, whose SHA-256 must be that in <archive>.sha256, unless it was before
#   cmake -P unpack.cmake <archive> <folder>: the same, for scripts

function(xio_unpack archive folder)
  if(NOT EXISTS ${archive} OR NOT EXISTS ${archive}.sha256)
    message(FATAL_ERROR "${archive} or ${archive}.sha256 is missing: git keeps both")
  endif()
  file(SHA256 ${archive} hash)
  file(STRINGS ${archive}.sha256 expected LIMIT_COUNT 1)
  string(REGEX MATCH "^[0-9a-f]*" expected "${expected}")
  if(NOT hash STREQUAL expected)
    message(FATAL_ERROR "${archive} is not the archive that it was packed as: its SHA-256 is ${hash}, "
      "and ${archive}.sha256 has ${expected}. git restores both, scripts/pack-data packs both.")
  endif()
  if(NOT CMAKE_SCRIPT_MODE_FILE)
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${archive} ${archive}.sha256)
  endif()
  set(unpacked "")
  if(EXISTS ${folder} AND EXISTS ${folder}.sha256)
    file(READ ${folder}.sha256 unpacked)
  endif()
  if(unpacked STREQUAL hash)
    return()
  endif()
  file(REMOVE_RECURSE ${folder})
  file(ARCHIVE_EXTRACT INPUT ${archive} DESTINATION ${folder} TOUCH)
  file(WRITE ${folder}.sha256 ${hash})
endfunction()

if(CMAKE_SCRIPT_MODE_FILE STREQUAL CMAKE_CURRENT_LIST_FILE)
  if(NOT CMAKE_ARGC EQUAL 5)
    message(FATAL_ERROR "usage: cmake -P unpack.cmake ARCHIVE FOLDER")
  endif()
  get_filename_component(archive ${CMAKE_ARGV3} ABSOLUTE)
  get_filename_component(folder ${CMAKE_ARGV4} ABSOLUTE)
  xio_unpack(${archive} ${folder})
endif()
