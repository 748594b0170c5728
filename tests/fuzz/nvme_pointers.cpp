// SPDX-License-Identifier: MIT

/// @file
/// @brief PRP and SGL builders, for data in any pieces and list memory of any size: what a controller finds that
/// follows what was built is the data, all of it and nothing else; what cannot be described is refused, and nothing
/// else is.

#include <xio/device/nvme/data.hpp>
#include <xio/vendors/nvme/prp.hpp>
#include <xio/vendors/nvme/sgl.hpp>

#include "fuzz/nvme_extents.hpp"

namespace nvme = xio::nvme;
using xio::Status;

namespace {

using namespace fuzz;

/// One command's data, and what it has to be described with.
struct Job {
  uint64_t offset;
  uint32_t bytes;
  uint32_t page_shift;
  uint64_t list_bus;
  uint32_t list_bytes;
  uint64_t page() const { return uint64_t{1} << page_shift; }
};

/// Entries of the pages of the data: the first may begin and the last end anywhere. Empty where PRPs cannot say it.
std::optional<std::vector<uint64_t>> pages_of(const Extents& data, uint64_t page) {
  std::vector<uint64_t> entries;
  for (size_t i = 0; i < data.size(); ++i) {
    const uint64_t begin = data[i].bus;
    const uint64_t end = begin + data[i].bytes;
    if (i == 0 ? begin % 4 != 0 : begin % page != 0) return std::nullopt;
    if (i + 1 != data.size() && end % page != 0) return std::nullopt;
    entries.push_back(begin);
    for (uint64_t next = begin - begin % page + page; next < end; next += page) entries.push_back(next);
  }
  return entries;
}

/// Words of a list of so many entries, with the pointers from page to page.
uint64_t words_of_list(uint64_t bus, uint64_t entries, uint64_t page) {
  uint64_t words = 0;
  for (uint64_t left = entries; left != 0; ++words) {
    const bool is_pointer = (bus + words * 8 + 8) % page == 0 && left > 1;
    if (!is_pointer) --left;
  }
  return words;
}

template <class Source>
void check_prps(const Source& source, const std::optional<Extents>& data, const Job& job) {
  const ListOnBus memory(job.list_bus, job.list_bytes);
  const nvme::ListMemory list{memory.words(), job.list_bus, job.list_bytes};
  nvme::DataPointer pointer;
  const Status status = nvme::build_prps(source, job.offset, job.bytes, job.page_shift, list, pointer);

  nvme::DataPointer ignored;
  const uint64_t in_page = job.list_bus % job.page();
  if (in_page == 0 || (in_page % 8 == 0 && in_page + job.list_bytes <= job.page())) {
    const nvme::detail::RehearsedList rehearsal{job.list_bytes};
    expect(nvme::build_prps(source, job.offset, job.bytes, job.page_shift, rehearsal, ignored) == status,
           "a rehearsal says the same");
  }

  const auto entries = data ? pages_of(*data, job.page()) : std::nullopt;
  const bool needs_list = entries && entries->size() > 2;
  const bool list_serves = job.list_bus % 8 == 0 && entries &&
                           words_of_list(job.list_bus, entries->size() - 1, job.page()) <= job.list_bytes / 8;
  if (entries) {
    const Status bare = nvme::build_prps(source, job.offset, job.bytes, job.page_shift, nvme::NoList{}, ignored);
    expect(bare == (needs_list ? Status::out_of_range : Status::ok), "without a list, two pages and no more");
    const uint32_t enough = nvme::needed_list_bytes(job.bytes, job.page_shift, job.list_bus % job.page());
    if (needs_list && job.list_bus % 8 == 0 && job.list_bytes >= enough) expect(list_serves, "needed_list_bytes()");
  }
  if (!entries || (needs_list && !list_serves)) {
    expect(status == Status::misaligned || status == Status::out_of_range, "what PRPs cannot say is refused");
    return;
  }
  expect(status == Status::ok, "what PRPs can say is accepted");
  expect(!pointer.sgl, "PRPs are no SGL");
  const Extents found =
      follow_prps(pointer.prp1, pointer.prp2, job.bytes, job.page(), [&](uint64_t at) { return memory.read(at); });
  expect(found == *data, "PRPs name exactly the data");
}

template <class Source>
void check_sgl(const Source& source, const std::optional<Extents>& data, const Job& job, uint32_t alignment) {
  const ListOnBus memory(job.list_bus, job.list_bytes);
  const nvme::ListMemory list{memory.words(), job.list_bus, job.list_bytes};
  nvme::DataPointer pointer;
  const Status status = nvme::build_sgl(source, job.offset, job.bytes, job.page_shift, list, pointer, alignment);

  bool possible = data.has_value();
  if (data) {
    for (const Extent& piece : *data) possible = possible && piece.bus % alignment == 0 && piece.bytes % alignment == 0;
    if (data->size() > 1) {
      const bool fits = job.list_bytes >= nvme::needed_sgl_bytes(data->size());
      expect(nvme::needed_sgl_bytes(data->size()) == 16 * data->size(), "needed_sgl_bytes()");
      possible = possible && job.list_bus % 8 == 0 && fits;
    }
  }
  if (!possible) {
    expect(status == Status::misaligned || status == Status::out_of_range, "what an SGL cannot say is refused");
    return;
  }
  expect(status == Status::ok, "what an SGL can say is accepted");
  expect(pointer.sgl, "an SGL says that it is one");
  const Extents found = follow_sgl(pointer.prp1, pointer.prp2, job.bytes, [&](uint64_t at) { return memory.read(at); });
  expect(found == *data, "an SGL names exactly the data");
}

/// Pieces that may touch, be empty, and lie anywhere.
std::vector<nvme::Segment> take_segments(Input& input, uint64_t page) {
  std::vector<nvme::Segment> segments(input.up_to<uint8_t>(20));
  uint64_t end = 0;
  for (nvme::Segment& one : segments) {
    const uint8_t how = input.take();
    one.bus = (how & 1) != 0 ? end : input.take<uint32_t>();
    if ((how & 2) != 0) one.bus = (one.bus + page - 1) / page * page;
    one.bytes = input.take<uint16_t>();
    if ((how & 4) != 0) one.bytes = one.bytes % 16 * page;
    if ((how & 8) != 0) one.bytes += (page - (one.bus + one.bytes) % page) % page;
    end = one.bus + one.bytes;
  }
  return segments;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  Input input(data, size);
  const uint8_t kind = input.take();
  Job job{};
  job.page_shift = 12 + (kind >> 4);
  if (job.page_shift > 27) job.page_shift = 27;
  job.list_bus = input.take<uint32_t>();
  if ((kind & 8) != 0) job.list_bus &= ~uint64_t{7};
  job.list_bytes = input.up_to<uint16_t>(16384);
  const uint32_t alignment = (kind & 4) != 0 ? 4 : 1;

  switch (kind & 3) {
    case 0: {
      const nvme::ContiguousPages pages{input.wide() >> 8};
      job.offset = input.take<uint32_t>();
      job.bytes = 1 + static_cast<uint32_t>(input.wide() % (uint64_t{1} << 31));
      const Extents where{{pages.base + job.offset, job.bytes}};
      check_prps(pages, where, job);
      check_sgl(pages, where, job, alignment);
      break;
    }
    case 1: {
      const uint32_t source_shift = job.page_shift + input.up_to<uint8_t>(3);
      const uint64_t page = uint64_t{1} << source_shift;
      std::vector<uint64_t> map(1 + input.up_to<uint8_t>(63));
      Extents all;
      for (uint64_t& one : map) one = uint64_t{input.take<uint16_t>()} << source_shift;
      const uint64_t first = input.take<uint64_t>() % page;
      for (size_t i = 0; i < map.size(); ++i)
        all.push_back({map[i] + (i == 0 ? first : 0), page - (i == 0 ? first : 0)});
      const uint64_t whole = map.size() * page - first;
      job.offset = input.wide() % whole;
      const uint64_t most = whole - job.offset < uint64_t{1} << 31 ? whole - job.offset : uint64_t{1} << 31;
      job.bytes = 1 + static_cast<uint32_t>(input.wide() % most);
      const nvme::PageArray pages{map.data(), source_shift, first};
      check_prps(pages, part_of(all, job.offset, job.bytes), job);
      check_sgl(pages, part_of(all, job.offset, job.bytes), job, alignment);
      break;
    }
    default: {
      job.offset = input.take<uint16_t>();
      job.bytes = 1 + input.take<uint32_t>() % (1u << 20);
      const std::vector<nvme::Segment> segments = take_segments(input, job.page());
      Extents all;
      for (const nvme::Segment& one : segments) all.push_back({one.bus, one.bytes});
      const nvme::SegmentList pages{segments.data(), static_cast<uint32_t>(segments.size())};
      check_prps(pages, part_of(all, job.offset, job.bytes), job);
      check_sgl(pages, part_of(all, job.offset, job.bytes), job, alignment);
      break;
    }
  }
  return 0;
}
