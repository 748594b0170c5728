# SPDX-License-Identifier: MIT
# Kernels for GPUs that travel in a program: compiled for every AMD target by clang into one bundle, and to PTX by nvcc.
# Where a compiler is missing the program is built without kernels for its GPUs, and says so when they are wanted.

set(XIO_KERNEL_PTX "" CACHE STRING "oldest NVIDIA GPU that programs have kernels for, sm_NN; empty: the oldest that nvcc knows")
find_program(XIO_OFFLOAD_BUNDLER NAMES clang-offload-bundler-19 clang-offload-bundler)
find_program(XIO_LLD NAMES ld.lld-19 ld.lld)

set(XIO_KERNELS_AMD "")
option(XIO_TESTER_KERNELS "xio-tester carries kernels for GPUs" ON)
# Sanitizers are for the host's code.
if(XIO_TESTER_KERNELS AND NOT XIO_SANITIZE AND NOT XIO_HIP_MISSING AND XIO_OFFLOAD_BUNDLER AND XIO_LLD)
  set(XIO_KERNELS_AMD ${XIO_HIP_TARGETS})
endif()
set(XIO_KERNELS_NVIDIA "")
if(XIO_TESTER_KERNELS AND NOT XIO_SANITIZE AND NOT XIO_NVCC_MISSING)
  set(XIO_KERNELS_NVIDIA ${XIO_KERNEL_PTX})
  if(NOT XIO_KERNELS_NVIDIA)
    execute_process(COMMAND ${XIO_NVCC} --list-gpu-arch OUTPUT_VARIABLE known)
    string(REGEX MATCH "[0-9]+" oldest "${known}")
    set(XIO_KERNELS_NVIDIA sm_${oldest})
  endif()
endif()

# xio_embed_kernels(<target> <name> <source that takes them in> <source of the kernels>)
# The first source gets XIO_TESTER_<NAME>_AMD and XIO_TESTER_<NAME>_NVIDIA: the files, where there are some.
function(xio_embed_kernels target name user source)
  string(TOUPPER ${name} upper)
  set(folder ${PROJECT_BINARY_DIR}/kernels)
  file(MAKE_DIRECTORY ${folder})
  list(JOIN XIO_KERNELS_AMD ", " amd_text)
  set(definitions "XIO_TESTER_AMD_TARGETS=\"${amd_text}\"" "XIO_TESTER_NVIDIA_TARGET=\"${XIO_KERNELS_NVIDIA}\"")
  set(files "")
  set(objects "")
  set(bundle_targets "host-x86_64-unknown-linux-gnu-")
  set(bundle_inputs "-input=/dev/null")
  foreach(arch IN LISTS XIO_KERNELS_AMD)
    set(object ${folder}/${name}.${arch}.co)
    add_custom_command(OUTPUT ${object}
      COMMAND ${XIO_HIP_CLANG_PATH} ${XIO_HIP_FLAGS} --offload-arch=${arch} -MD -MF ${object}.d -MT ${object} -c -o ${object} ${source}
      DEPENDS ${source} DEPFILE ${object}.d COMMENT "Kernels of ${name} for ${arch}" VERBATIM)
    list(APPEND objects ${object})
    string(APPEND bundle_targets ",hipv4-amdgcn-amd-amdhsa--${arch}")
    list(APPEND bundle_inputs -input=${object})
  endforeach()
  if(objects)
    set(bundle ${folder}/${name}.hipfb)
    add_custom_command(OUTPUT ${bundle}
      COMMAND ${XIO_OFFLOAD_BUNDLER} -type=o -bundle-align=4096 -targets=${bundle_targets} ${bundle_inputs} -output=${bundle}
      DEPENDS ${objects} VERBATIM)
    list(APPEND files ${bundle})
    list(APPEND definitions "XIO_TESTER_${upper}_AMD=\"${bundle}\"")
  endif()
  if(XIO_KERNELS_NVIDIA)
    set(ptx ${folder}/${name}.ptx)
    string(REPLACE "sm_" "compute_" virtual ${XIO_KERNELS_NVIDIA})
    add_custom_command(OUTPUT ${ptx}
      COMMAND ${XIO_NVCC} ${XIO_NVCC_FLAGS} -arch=${virtual} -MD -MF ${ptx}.d -MT ${ptx} -ptx -o ${ptx} ${source}
      DEPENDS ${source} DEPFILE ${ptx}.d COMMENT "Kernels of ${name} as PTX" VERBATIM)
    list(APPEND files ${ptx})
    list(APPEND definitions "XIO_TESTER_${upper}_NVIDIA=\"${ptx}\"")
  endif()
  set_property(SOURCE ${user} APPEND PROPERTY OBJECT_DEPENDS "${files}")
  set_property(SOURCE ${user} APPEND PROPERTY SKIP_UNITY_BUILD_INCLUSION ON)
  set_property(SOURCE ${user} APPEND PROPERTY COMPILE_DEFINITIONS ${definitions})
endfunction()
