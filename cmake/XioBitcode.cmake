# SPDX-License-Identifier: MIT
# Bitcode of xio's calls in C (xio/device/abi/xio_device.h), for kernels of other languages. Part of the installed package.

# xio_add_bitcode(<target> TARGETS <gpu>... [DIRECTORY folder])
# A target that makes <folder>/libxio_device-<gpu>.bc for each GPU; the folder is the current one of the build unless given.
#   gfxNNN  by clang, for AMD GPUs
#   sm_NN   by clang, for NVIDIA GPUs from this one on
#   lto_NN  by nvcc, LTO-IR: libxio_device-lto_NN.ltoir
# XIO_BITCODE_CLANG and XIO_BITCODE_NVCC name other compilers. The target's property XIO_BITCODE_FILES lists the files.
function(xio_add_bitcode target)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "DIRECTORY" "TARGETS")
  if(NOT arg_TARGETS OR arg_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR "xio_add_bitcode(${target}): say TARGETS and at least one GPU, such as gfx942 or sm_80")
  endif()
  if(NOT arg_DIRECTORY)
    set(arg_DIRECTORY ${CMAKE_CURRENT_BINARY_DIR})
  endif()
  get_target_property(includes xio::xio INTERFACE_INCLUDE_DIRECTORIES)
  string(REGEX REPLACE "\\$<BUILD_INTERFACE:([^>]*)>" "\\1" includes "${includes}")
  # What is left of generator expressions is for the installed package, which names its folder itself.
  list(FILTER includes EXCLUDE REGEX "\\$<")
  set(source xio/device/abi/xio_device.cpp)
  find_path(folder NAMES ${source} PATHS ${includes} NO_CACHE NO_DEFAULT_PATH REQUIRED)

  file(MAKE_DIRECTORY ${arg_DIRECTORY})
  set(files "")
  foreach(gpu IN LISTS arg_TARGETS)
    set(output ${arg_DIRECTORY}/libxio_device-${gpu}.bc)
    set(depends -Xclang -dependency-file -Xclang ${output}.d -Xclang -MT -Xclang ${output})
    if(gpu MATCHES "^gfx[0-9a-f]+$|^gfx[0-9-]+-generic$")
      # What it is linked with decides on the version of code objects, and finds the symbol of `-cuid` once.
      set(command -x hip --offload-arch=${gpu} --cuda-device-only --no-gpu-bundle-output -nogpuinc -nogpulib -fgpu-rdc
        -cuid=libxio_device -Xclang -mcode-object-version=none
        "-D__host__=__attribute__((host))" "-D__device__=__attribute__((device))" "-D__global__=__attribute__((global))")
    elseif(gpu MATCHES "^sm_([0-9]+)a?$")
      # Not as CUDA, whose module has a flag that other compilers set otherwise; jump tables are nothing that all PTX has.
      set(ptx 70)
      if(CMAKE_MATCH_1 GREATER_EQUAL 100)
        set(ptx 87)
      elseif(CMAKE_MATCH_1 GREATER 80)
        set(ptx 78)
      endif()
      set(command -x c++ --target=nvptx64-nvidia-cuda -march=${gpu} -D__CUDA_ARCH__=${CMAKE_MATCH_1}0 -Xclang -target-feature
        -Xclang +ptx${ptx} -nogpulib -ffreestanding -fno-exceptions -fconvergent-functions -fno-jump-tables)
    elseif(gpu MATCHES "^lto_([0-9]+a?)$")
      set(output ${arg_DIRECTORY}/libxio_device-${gpu}.ltoir)
      set(command -x cu -gencode arch=compute_${CMAKE_MATCH_1},code=lto_${CMAKE_MATCH_1} -rdc=true -ltoir)
      set(depends -MD -MF ${output}.d -MT ${output})
    else()
      message(FATAL_ERROR "xio_add_bitcode(${target}): unknown target \"${gpu}\"; there are gfxNNN, sm_NN and lto_NN")
    endif()
    if(gpu MATCHES "^lto_")
      find_program(XIO_BITCODE_NVCC nvcc HINTS ${XIO_NVCC} PATHS /usr/local/cuda/bin DOC "nvcc for LTO-IR" REQUIRED)
      list(PREPEND command ${XIO_BITCODE_NVCC} -O3)
    else()
      find_program(XIO_BITCODE_CLANG NAMES ${XIO_HIP_CLANG} clang++-19 clang++ amdclang++ clang++-22 HINTS /opt/rocm/llvm/bin
        DOC "clang for bitcode, no newer than the LLVM that reads it" REQUIRED)
      execute_process(COMMAND ${XIO_BITCODE_CLANG} -dumpversion OUTPUT_VARIABLE version OUTPUT_STRIP_TRAILING_WHITESPACE)
      if(version VERSION_LESS 19)
        message(FATAL_ERROR "xio_add_bitcode(${target}): ${XIO_BITCODE_CLANG} is clang ${version}; 19 or later is needed (XIO_BITCODE_CLANG)")
      endif()
      list(PREPEND command ${XIO_BITCODE_CLANG} -O3 -emit-llvm)
    endif()
    add_custom_command(OUTPUT ${output}
      COMMAND ${command} -std=c++17 -I${folder} ${depends} -c ${folder}/${source} -o ${output}
      DEPENDS ${folder}/${source} DEPFILE ${output}.d COMMENT "Bitcode: libxio_device-${gpu}" VERBATIM)
    list(APPEND files ${output})
  endforeach()
  add_custom_target(${target} DEPENDS ${files})
  set_target_properties(${target} PROPERTIES XIO_BITCODE_FILES "${files}")
endfunction()
