// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief A shared library that is loaded when it is first needed: a program starts where there is none.

#include <dlfcn.h>

#include <string>
#include <utility>
#include <vector>

#include <xio/config.hpp>
#include <xio/host/error.hpp>

XIO_NAMESPACE_BEGIN

namespace host {

/// Functions of a library, by name. Never unloaded: providers of verbs do not bear that.
class SharedLibrary {
 public:
  /// Takes the first of `files` that the program has loaded already, else loads the first that there is. Throws Error
  /// where there is none.
  /// @param files   paths, or names that the dynamic linker looks for
  /// @param needed  end of the message: what to install
  SharedLibrary(const std::vector<std::string>& files, const std::string& needed) : needed_(needed) {
    // Beside one that the program was linked with, another version of it would have a state of its own.
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
    throw Error("cannot load a library: " + why + "; " + needed_);
  }

  /// Sets `function`, or throws Error where the library has none of this name.
  template <class Function>
  void find(Function*& function, const char* symbol) const {
    if (!find_optional(function, symbol)) throw Error(name_ + " has no " + symbol + "; " + needed_);
  }
  /// Sets `function`, to null where the library has none of this name.
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

}  // namespace host

XIO_NAMESPACE_END
