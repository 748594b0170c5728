// SPDX-License-Identifier: MIT

/// @file
/// @brief The text form of QEMU's options, and what becomes of it on QEMU's command line.

#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <string>
#include <vector>

#include <xio/host/nvme/qemu_command.hpp>
#include <xio/host/nvme/qemu_options.hpp>
#include <xio/host/text.hpp>

#include "catch.hpp"
#include "unit/host_support.hpp"

using namespace xio::host;
using host_tests::contains;
using host_tests::error_of;
using host_tests::ScratchFile;

namespace {

std::string value_after(const std::vector<std::string>& words, const std::string& option, size_t which = 0) {
  for (size_t i = 0; i + 1 < words.size(); ++i)
    if (words[i] == option && which-- == 0) return words[i + 1];
  return {};
}

}  // namespace

TEST_CASE("numbers and sizes", "[host][text]") {
  CHECK(parse_number("0") == 0u);
  CHECK(parse_number("0x1fF") == 0x1ffu);
  CHECK(parse_number("18446744073709551615") == ~uint64_t{0});
  CHECK(parse_bytes("64M") == uint64_t{64} << 20);
  CHECK(parse_bytes("3k") == 3072u);
  CHECK(parse_bytes("2G") == uint64_t{2} << 30);
  CHECK(parse_bytes("1T") == uint64_t{1} << 40);
  for (const char* wrong :
       {"", " 1", "-1", "+1", "1 ", "0x", "1x", "12a", "18446744073709551616", "0xfffffffffffffffff"})
    CHECK_FALSE(parse_number(wrong).has_value());
  for (const char* wrong : {"", "M", "1MM", "1B", "16777216T"}) CHECK_FALSE(parse_bytes(wrong).has_value());
  CHECK(to_hex(0) == "0x0");
  CHECK(to_hex(0x2a, 4) == "0x002a");
  CHECK(to_hex(~uint64_t{0}) == "0xffffffffffffffff");
}

TEST_CASE("a spec is read completely", "[host][qemu]") {
  const QemuOptions plain = parse_qemu_spec("qemu");
  CHECK(plain.image.empty());
  CHECK(plain.block_bytes == 512);
  CHECK(plain.mdts == -1);
  CHECK(plain.protocol == QemuProtocol::automatic);
  CHECK(parse_qemu_spec("qemu:").block_bytes == 512);

  const QemuOptions all = parse_qemu_spec(
      "qemu:image=/tmp/a b.img,size=64M,lba=4096,queues=8,mdts=3,backend=uring,dma=1G,binary=/opt/qemu,transport=qtest,"
      "device=mqes=31,dbcs=off,ioeventfd=on");
  CHECK(all.image == "/tmp/a b.img");
  CHECK(all.size == uint64_t{64} << 20);
  CHECK(all.block_bytes == 4096);
  CHECK(all.queues == 8);
  CHECK(all.mdts == 3);
  CHECK(all.backend == QemuBackend::uring);
  CHECK(all.dma_bytes == size_t{1} << 30);
  CHECK(all.binary == "/opt/qemu");
  CHECK(all.protocol == QemuProtocol::qtest);
  CHECK(all.device_options == "mqes=31,dbcs=off,ioeventfd=on");
  CHECK(parse_qemu_spec("qemu:backend=null-zeroes").backend == QemuBackend::null_zeroes);
  CHECK(parse_qemu_spec("qemu:backend=threads").backend == QemuBackend::threads);
  CHECK(parse_qemu_spec("qemu:mdts=0").mdts == 0);
  CHECK(plain.device.empty());
  CHECK(parse_qemu_spec("qemu:ms=8,mset=1,pi=2").device == "ms=8,mset=1,pi=2");
  CHECK(parse_qemu_spec("qemu:zoned=1M,size=8M").device == "zoned=on,zoned.zone_size=1048576");
}

TEST_CASE("what is wrong in a spec is said in one line", "[host][qemu]") {
  const auto complaint = [](const std::string& spec) { return error_of([&] { parse_qemu_spec(spec); }); };
  CHECK(contains(complaint("vfio:x"), "not of the form qemu[:key=value,...]"));
  CHECK(contains(complaint("qemux"), "not of the form"));
  CHECK(contains(complaint("qemu:colour=blue"), "unknown key 'colour'"));
  CHECK(contains(complaint("qemu:colour=blue"), "known: image, size"));
  CHECK(contains(complaint("qemu:lba"), "'lba' is not of the form key=value"));
  CHECK(contains(complaint("qemu:size=1M,lba"), "'lba' is not of the form key=value"));
  CHECK(contains(complaint("qemu:lba,size=1M"), "'lba' is not of the form key=value"));
  CHECK(contains(complaint("qemu:lba="), "lba needs a value"));
  CHECK(contains(complaint("qemu:lba=513"), "power of two from 512 to 65536"));
  CHECK(contains(complaint("qemu:lba=768"), "power of two from 512 to 65536"));
  CHECK(contains(complaint("qemu:lba=256"), "a number from 512 to 65536"));
  CHECK(contains(complaint("qemu:queues=0"), "a number from 1 to 511"));
  CHECK(contains(complaint("qemu:mdts=x"), "mdts=x is not accepted"));
  CHECK(contains(complaint("qemu:ms=65536"), "a number from 1 to 65535"));
  CHECK(contains(complaint("qemu:ms=8,mset=2"), "a number from 0 to 1"));
  CHECK(contains(complaint("qemu:ms=8,pi=4"), "a number from 0 to 3"));
  CHECK(contains(complaint("qemu:zoned=on"), "zoned=on is not accepted"));
  CHECK(contains(complaint("qemu:backend=tape"), "accepted: file, threads, uring, null, null-zeroes"));
  CHECK(contains(complaint("qemu:transport=pci"), "accepted: auto, remote, qtest"));
  CHECK(contains(complaint("qemu:size=1M,size=2M"), "size is given twice"));
  CHECK(contains(complaint("qemu:size=1M,"), "nothing follows the last comma"));
  CHECK(contains(complaint("qemu:size=1000"), "not a multiple of lba=512"));
  CHECK(contains(complaint("qemu:image=/x,backend=null"), "image= has no effect with a null backend"));
  for (const char* spec : {"qemu:colour=blue", "qemu:lba=768", "x"})
    CHECK(complaint(spec).find('\n') == std::string::npos);
}

TEST_CASE("images are checked, created only where absent, and never resized", "[host][qemu]") {
  const ScratchFile file("disk.img");
  QemuOptions options;
  options.image = file.path();
  const auto complaint = [&] { return error_of([&] { detail::QemuDevices devices(options, ""); }); };

  CHECK(contains(complaint(), "does not exist; give size= to create it"));
  CHECK(file.bytes() == -1);
  options.size = 1 << 20;
  CHECK(complaint().empty());
  CHECK(file.bytes() == 1 << 20);
  options.size = 2 << 20;
  CHECK(contains(complaint(), "has 1048576 bytes, not 2097152"));
  CHECK(file.bytes() == 1 << 20);
  options.size = 0;
  CHECK(complaint().empty());
  file.make(4096 + 512);
  CHECK(complaint().empty());
  options.block_bytes = 4096;
  CHECK(contains(complaint(), "has 4608 bytes, which is not a multiple of the block size 4096"));
  file.make(0);
  CHECK(contains(complaint(), "has 0 bytes"));

  ::unlink(file.path().c_str());
  ::mkdir(file.path().c_str(), 0700);
  CHECK(contains(complaint(), "is not a regular file"));
  options.image = file.path() + "/no/such/folder/x";
  options.size = 4096;
  CHECK(contains(complaint(), "cannot create image"));
}

TEST_CASE("an image that cannot be made leaves nothing behind", "[host][qemu]") {
  // File systems differ in whether a file can be made before it has a name.
  const std::string folder = GENERATE(as<std::string>(), "", "/dev/shm");
  if (::access(("/." + folder).c_str(), W_OK) != 0) return;
  const ScratchFile here("disk.img");
  const std::string path = folder.empty() ? here.path() : folder + "/xio-test-" + std::to_string(::getpid()) + ".img";
  QemuOptions options;
  options.image = path;
  options.size = 8 << 20;
  const auto complaint = [&] { return error_of([&] { detail::QemuDevices devices(options, ""); }); };
  const auto bytes = [&path] {
    struct stat info{};
    return ::stat(path.c_str(), &info) == 0 ? info.st_size : -1;
  };

  rlimit before{};
  REQUIRE(::getrlimit(RLIMIT_FSIZE, &before) == 0);
  const auto old_action = ::signal(SIGXFSZ, SIG_IGN);
  const rlimit small{1 << 20, before.rlim_max};
  REQUIRE(::setrlimit(RLIMIT_FSIZE, &small) == 0);
  const std::string said = complaint();
  CHECK(bytes() == -1);
  REQUIRE(::setrlimit(RLIMIT_FSIZE, &before) == 0);
  ::signal(SIGXFSZ, old_action);
  CHECK(contains(said, "cannot make image " + path));
  // The next run is not held up.
  CHECK(complaint().empty());
  CHECK(bytes() == 8 << 20);
  ::unlink(path.c_str());
}

TEST_CASE("options turn into QEMU's arguments", "[host][qemu]") {
  const ScratchFile file("a,b.img");
  QemuOptions options;
  options.image = file.path();
  options.size = 1 << 20;
  options.block_bytes = 4096;
  options.queues = 3;
  options.mdts = 5;
  options.device_options = "mqes=31,dbcs=off";
  const detail::QemuDevices one(options, "addr=4");
  CHECK(contains(value_after(one.arguments, "-blockdev"), "a,,b.img"));
  CHECK(value_after(one.arguments, "-device") ==
        "nvme,id=nvme0,serial=xio,addr=4,max_ioqpairs=3,mdts=5,mqes=31,dbcs=off");
  CHECK(value_after(one.arguments, "-device", 1) ==
        "nvme-ns,drive=drive0,logical_block_size=4096,physical_block_size=4096");
  CHECK(one.images.empty());

  QemuOptions formatted = parse_qemu_spec("qemu:ms=8,pi=1,mdts=5");
  const detail::QemuDevices apart(formatted, "addr=4");
  CHECK(value_after(apart.arguments, "-device", 0) == "nvme,id=nvme0,serial=xio,addr=4,mdts=5");
  CHECK(value_after(apart.arguments, "-device", 1) ==
        "nvme-ns,drive=drive0,logical_block_size=512,physical_block_size=512,ms=8,pi=1");

  QemuOptions many;
  many.namespaces.resize(3);
  many.namespaces[0].nsid = 7;
  many.namespaces[1].backend = QemuBackend::null;
  many.namespaces[1].size = 1 << 20;
  many.namespaces[1].block_bytes = 4096;
  many.namespaces[2].blockdevs = {"driver=file,node-name=f,filename=@image@",
                                  "driver=blkdebug,image=f,node-name=drive2"};
  many.namespaces[2].device = "ms=8,pi=1";
  const detail::QemuDevices three(many, "");
  CHECK(three.images.size() == 2);  // memory behind the first and the third
  CHECK(value_after(three.arguments, "-blockdev", 1) == "driver=null-co,read-zeroes=off,size=1048576,node-name=drive1");
  CHECK(contains(value_after(three.arguments, "-blockdev", 2), "filename=/proc/self/fd/"));
  CHECK(value_after(three.arguments, "-device", 0) == "nvme,id=nvme0,serial=xio");
  CHECK(value_after(three.arguments, "-device", 1) ==
        "nvme-ns,drive=drive0,logical_block_size=512,physical_block_size=512,nsid=7");
  CHECK(contains(value_after(three.arguments, "-device", 2), "drive=drive1,logical_block_size=4096"));
  CHECK(value_after(three.arguments, "-device", 3) ==
        "nvme-ns,drive=drive2,logical_block_size=512,physical_block_size=512,ms=8,pi=1");
}
