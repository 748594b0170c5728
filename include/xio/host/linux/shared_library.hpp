// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief A shared library that is loaded on demand, so that a program starts without it.

#include <dlfcn.h>

#include <string>
#include <utility>
#include <vector>

#include <xio/config.hpp>
#include <xio/host/error.hpp>

XIO_NAMESPACE_BEGIN

namespace host {
/// @addtogroup host_support
/// @{

/// A dynamically loaded library. Never unloaded: verbs providers do not support that.
class SharedLibrary {
 public:
  /// Uses the first of `files` that is loaded already, else loads the first that exists. Throws Error if none can be
  /// loaded.
  /// @param files   paths, or names for the dynamic linker to search
  /// @param needed  end of the message: what to install
  SharedLibrary(const std::vector<std::string>& files, const std::string& needed) : needed_(needed) {
    // A second version beside one that the program is linked with would have separate state.
    for (const std::string& file : files) {
      handle_ = ::dlopen(file.c_str(), RTLD_NOW | RTLD_NOLOAD);
      name_ = file;
      if (handle_ != nullptr) return;
    }
    std::string why;
    for (const std::string& file : files) {
      handle_ = ::dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
      name_ = file;
      if (handle_ != nullptr) return;
      why += (why.empty() ? "" : "; ") + std::string(::dlerror());
    }
    throw Unavailable("cannot load a library: " + why + "; " + needed_);
  }

  /// Looks up a symbol and sets `function`. Throws Error if the library does not export it.
  template <class Function>
  void find(Function*& function, const char* symbol) const {
    if (!find_optional(function, symbol)) throw Error(name_ + " has no " + symbol + "; " + needed_);
  }
  /// Looks up a symbol and sets `function`, to null if the library does not export it. Returns whether it does.
  template <class Function>
  bool find_optional(Function*& function, const char* symbol) const {
    function = reinterpret_cast<Function*>(::dlsym(handle_, symbol));
    return function != nullptr;
  }

 private:
  std::string needed_;
  std::string name_;
  void* handle_ = nullptr;
};

/// @}
}  // namespace host

XIO_NAMESPACE_END
