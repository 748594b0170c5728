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

  /// An exported symbol, as a pointer to a function of any type.
  class Symbol {
   public:
    explicit Symbol(void* address) : address_(address) {}
    template <class Function>
    operator Function*() const {
      return reinterpret_cast<Function*>(address_);
    }

   private:
    void* address_;
  };

  /// Throws Error if the library does not export the symbol.
  Symbol find(const char* symbol) const {
    void* const address = ::dlsym(handle_, symbol);
    if (address == nullptr) throw Error(name_ + " has no " + symbol + "; " + needed_);
    return Symbol(address);
  }
  /// Null if the library does not export the symbol.
  Symbol find_optional(const char* symbol) const { return Symbol(::dlsym(handle_, symbol)); }

 private:
  std::string needed_;
  std::string name_;
  void* handle_ = nullptr;
};

/// @}
}  // namespace host

XIO_NAMESPACE_END
