// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief The played runtimes as tests load them. XIO_FAKE_GPU and XIO_FAKE_GPU_OLD are files of the build.

#include <dlfcn.h>

#include <memory>
#include <string>
#include <vector>

#include <xio/host/gpu/cuda.hpp>
#include <xio/host/gpu/hip.hpp>

#include "catch.hpp"
#include "unit/fake_gpu/table.hpp"
#include "unit/host_support.hpp"

namespace fake_gpu {

/// One version of the runtimes, as new; whatever was made of them is given back at the end.
class Machine {
 public:
  explicit Machine(bool old = false) : file_(old ? XIO_FAKE_GPU_OLD : XIO_FAKE_GPU) {
    void* const handle = ::dlopen(file_.c_str(), RTLD_NOW | RTLD_LOCAL);
    REQUIRE(handle != nullptr);
    table_ = static_cast<FakeGpu*>(::dlsym(handle, "xio_fake_gpu"));
    REQUIRE(table_ != nullptr);
    *table_ = FakeGpu();
  }
  Machine(const Machine&) = delete;
  Machine& operator=(const Machine&) = delete;
  ~Machine() { CHECK(table_->alive == 0); }

  FakeGpu& operator*() const { return *table_; }
  FakeGpu* operator->() const { return table_; }
  /// Calls so far, of those that the table logs.
  std::string log() const { return {table_->log, table_->logged}; }
  void clear_log() const { table_->logged = 0; }

  std::shared_ptr<xio::host::HipRuntime> hip(int device = 0) const {
    xio::host::HipRuntime::Options options;
    options.device = device;
    options.hip_files = {file_};
    options.hsa_files = {file_};
    return std::make_shared<xio::host::HipRuntime>(options);
  }
  std::shared_ptr<xio::host::CudaRuntime> cuda(int device = 0) const {
    xio::host::CudaRuntime::Options options;
    options.device = device;
    options.files = {{file_}, {file_}};
    return std::make_shared<xio::host::CudaRuntime>(options);
  }

 private:
  std::string file_;
  FakeGpu* table_ = nullptr;
};

}  // namespace fake_gpu
