// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief Builds QEMU's command line and images from QemuOptions.

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <string>
#include <utility>
#include <vector>

#include <xio/config.hpp>
#include <xio/host/error.hpp>
#include <xio/host/linux/file_descriptor.hpp>
#include <xio/host/nvme/qemu_options.hpp>

XIO_NAMESPACE_BEGIN

namespace host::detail {

/// Size of the anonymous memory behind a namespace without an image; it is freed with its last descriptor.
constexpr uint64_t default_image_bytes = uint64_t{64} << 20;

/// A name of an open file for QEMU, which inherits it.
/// @throws Error where /proc is not mounted, as in a bare chroot
inline std::string inherited_path(int fd) {
  std::string path = "/proc/self/fd/" + std::to_string(fd);
  if (::access(path.c_str(), F_OK) != 0)
    throw Error("qemu: /proc is not mounted here, by which QEMU opens memory; mount it (mount -t proc proc /proc)");
  return path;
}

/// Sets O_EXCL-created or anonymous files to their size.
inline void set_file_size(int fd, uint64_t bytes, const std::string& name) {
  if (::ftruncate(fd, static_cast<off_t>(bytes)) != 0)
    throw_system_error("qemu: cannot make " + name + " " + std::to_string(bytes) + " bytes long", errno);
}

/// Creates an image of full length or none at all: the file gets its name once it has its length.
inline void create_image(const std::string& path, uint64_t bytes, const std::string& name) {
  const size_t slash = path.rfind('/');
  const std::string folder = slash == std::string::npos ? "." : path.substr(0, slash + 1);
  const int unnamed = ::open(folder.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0644);
  if (unnamed >= 0) {
    const FileDescriptor file(unnamed, name);
    set_file_size(file.get(), bytes, name);
    const std::string source = "/proc/self/fd/" + std::to_string(file.get());
    if (::linkat(AT_FDCWD, source.c_str(), AT_FDCWD, path.c_str(), AT_SYMLINK_FOLLOW) == 0) return;
    if (errno == EEXIST) throw_system_error("qemu: cannot create " + name, errno);
  }
  // Not every file system supports unnamed files or links to them.
  const FileDescriptor created(::open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0644),
                               "qemu: cannot create " + name);
  try {
    set_file_size(created.get(), bytes, name);
  } catch (...) {
    ::unlink(path.c_str());
    throw;
  }
}

/// Whether another QEMU writes to an image, or lets nobody else write to it: QEMU locks a byte for each
/// (block/file-posix.c: 100 and 200 are its first bytes, and writing is the second permission).
inline bool is_image_in_use(int fd) {
  for (const off_t byte : {101, 201}) {
    struct flock lock{};
    lock.l_type = F_WRLCK;
    lock.l_whence = SEEK_SET;
    lock.l_start = byte;
    lock.l_len = 1;
    if (::fcntl(fd, F_OFD_GETLK, &lock) == 0 && lock.l_type != F_UNLCK) return true;
  }
  return false;
}

/// Checks that a raw image can be used, or creates it if it is absent and a size is known.
inline void prepare_image(const QemuNamespace& wanted) {
  const std::string name = "image " + wanted.image;
  struct stat info{};
  if (::stat(wanted.image.c_str(), &info) != 0) {
    if (errno != ENOENT) throw_system_error("qemu: cannot use " + name, errno);
    if (wanted.size == 0) throw Error("qemu: " + name + " does not exist; give size= to create it");
    return create_image(wanted.image, wanted.size, name);
  }
  if (!S_ISREG(info.st_mode)) throw Error("qemu: " + name + " is not a regular file; use a raw image file");
  const FileDescriptor probe(::open(wanted.image.c_str(), O_RDWR | O_CLOEXEC),
                             "qemu: cannot open " + name + " for reading and writing");
  if (is_image_in_use(probe.get()))
    throw Error("qemu: " + name + " is in use by another QEMU; end that one, or use a copy of the image");
  const auto bytes = static_cast<uint64_t>(info.st_size);
  if (wanted.size != 0 && wanted.size != bytes)
    throw Error("qemu: " + name + " has " + std::to_string(bytes) + " bytes, not " + std::to_string(wanted.size) +
                "; leave size= out; an existing image is never resized");
  if (bytes == 0 || bytes % wanted.block_bytes != 0)
    throw Error("qemu: " + name + " has " + std::to_string(bytes) +
                " bytes, which is not a multiple of the block size " + std::to_string(wanted.block_bytes) +
                "; use another image or another lba=");
}

/// Escapes commas by doubling them: QEMU splits option values at commas.
inline std::string escape_commas(std::string text) {
  for (size_t at = 0; (at = text.find(',', at)) != std::string::npos; at += 2) text.insert(at, 1, ',');
  return text;
}

inline std::string with_options(const std::string& device, const std::string& more) {
  return more.empty() ? device : device + "," + more;
}

/// Arguments that define the namespaces' storage and devices, and the descriptors that the arguments refer to.
struct QemuDevices {
  std::vector<std::string> arguments;
  std::vector<FileDescriptor> images;

  /// @param slot  option that the machine requires in the controller's `-device`, for instance "addr=4"; may be empty
  QemuDevices(const QemuOptions& options, const std::string& slot) {
    const bool many = !options.namespaces.empty();
    const size_t count = many ? options.namespaces.size() : 1;
    const auto one_of = [&](size_t i) -> const QemuNamespace& { return many ? options.namespaces[i] : options; };
    for (size_t i = 0; i < count; ++i) add_storage(one_of(i), i);

    std::string controller = "nvme,id=nvme0,serial=" + escape_commas(options.serial);
    controller = with_options(controller, slot);
    if (options.queues != 0) controller += ",max_ioqpairs=" + std::to_string(options.queues);
    if (options.mdts >= 0) controller += ",mdts=" + std::to_string(options.mdts);
    add("-device", with_options(controller, options.device_options));
    // A namespace that the controller creates from its own `drive` takes no options, and refuses every Copy (183h).
    for (size_t i = 0; i < count; ++i) {
      const QemuNamespace& one = one_of(i);
      std::string device = "nvme-ns,drive=drive" + std::to_string(i) + block_size(one);
      if (one.nsid != 0) device += ",nsid=" + std::to_string(one.nsid);
      add("-device", with_options(device, one.device));
    }
  }

 private:
  void add(const std::string& option, const std::string& value) {
    arguments.push_back(option);
    arguments.push_back(value);
  }

  static std::string block_size(const QemuNamespace& one) {
    const std::string bytes = std::to_string(one.block_bytes);
    return ",logical_block_size=" + bytes + ",physical_block_size=" + bytes;
  }

  void add_storage(const QemuNamespace& one, size_t index) {
    const std::string node = ",node-name=drive" + std::to_string(index);
    if (one.blockdevs.empty() && (one.backend == QemuBackend::null || one.backend == QemuBackend::null_zeroes)) {
      const std::string zeroes = one.backend == QemuBackend::null_zeroes ? "on" : "off";
      add("-blockdev", "driver=null-co,read-zeroes=" + zeroes + ",size=" + std::to_string(size_of(one)) + node);
      return;
    }
    const std::string path = image_path(one);
    if (!one.blockdevs.empty()) {
      for (std::string value : one.blockdevs) {
        const std::string mark = "@image@";
        for (size_t at; (at = value.find(mark)) != std::string::npos;) value.replace(at, mark.size(), path);
        add("-blockdev", value);
      }
      return;
    }
    const char* engine = "";
    if (one.backend == QemuBackend::threads) engine = ",aio=threads";
    if (one.backend == QemuBackend::uring) engine = ",aio=io_uring";
    add("-blockdev", "driver=file,discard=unmap" + std::string(engine) + ",filename=" + escape_commas(path) + node);
  }

  static uint64_t size_of(const QemuNamespace& one) { return one.size != 0 ? one.size : default_image_bytes; }

  std::string image_path(const QemuNamespace& one) {
    if (!one.image.empty()) {
      prepare_image(one);
      return one.image;
    }
    images.emplace_back(::memfd_create("xio-image", MFD_CLOEXEC), "qemu: cannot create memory for an image");
    set_file_size(images.back().get(), size_of(one), "the image in memory");
    return inherited_path(images.back().get());
  }
};

/// Returns the QEMU binary to run: the option, else the environment variable, else the distribution's name.
inline std::string qemu_binary(const QemuOptions& options) {
  if (!options.binary.empty()) return options.binary;
  const char* chosen = std::getenv("XIO_QEMU");
  return chosen != nullptr && *chosen != '\0' ? chosen : "qemu-system-x86_64";
}

}  // namespace host::detail

XIO_NAMESPACE_END
