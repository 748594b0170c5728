// SPDX-License-Identifier: MIT

/// @file
/// @brief The page cache over QEMU's controller: pages that leave and a flush bring what was put to the image.

#include <cstdio>
#include <vector>

#include "cache/rig.hpp"
#include "catch.hpp"
#include "qemu/host_support.hpp"

using namespace cache_tests;
using xio::host::QemuProtocol;

TEST_CASE("a page cache of few frames is flushed: the image holds what was put", "[qemu]") {
  if (host_tests::qemu_is_missing()) return;
  const QemuProtocol protocol = GENERATE(QemuProtocol::remote, QemuProtocol::qtest);
  INFO(host_tests::protocol_name(protocol));
  constexpr uint32_t threads = 128;
  const host_tests::ScratchFile file("cache.img");
  xio::host::QemuOptions machine = host_tests::options_for(protocol);
  machine.image = file.path();
  machine.size = 512 << 10;
  uint64_t elements = 0;
  {
    host_tests::QemuController qemu(machine);
    xio::host::CacheOptions options;
    options.page_bytes = 4096;
    options.bytes = 16 * 4096;
    options.ways = 4;
    xio::host::NvmeCache cache = xio::host::make_cache(xio::host::Executor(), {&qemu.controller}, options);
    elements = cache.elements(8);
    REQUIRE(elements == machine.size / 8);
    const auto launch = [&](auto kernel, const auto&... arguments) {
      Result result{};
      xio::simt::launch(xio::simt::Grid::of_waves(2, 1, 64), kernel, cache.handle(), arguments..., &result);
      CHECK(result.failed == 0);
      CHECK(result.wrong == 0);
      return result.right;
    };
    const auto rounds = static_cast<uint32_t>(elements / threads);
    CHECK(launch(write_back, Job{elements, 1, rounds, Work::put, patience}) == elements);
    CHECK(cache.counts().write_backs >= cache.pages() - 16);  // the pages without a frame
    CHECK(launch(flush, patience) == 0);
    CHECK(cache.counts().write_backs >= cache.pages());
    cache.forget();  // only the controller knows
    CHECK(launch(read_only, Job{elements, 1, 8, Work::random, patience}) == 8 * threads);
  }
  std::vector<uint64_t> words(elements);
  std::FILE* const image = std::fopen(file.path().c_str(), "r");
  REQUIRE(image != nullptr);
  CHECK(std::fread(words.data(), 8, elements, image) == elements);
  std::fclose(image);
  uint64_t wrong = 0;
  for (uint64_t i = 0; i < elements; ++i) wrong += words[i] != content(i, 1);
  CHECK(wrong == 0);
}
