// SPDX-License-Identifier: MIT

/// @file
/// @brief Commands of random sizes through queues of random shapes, to a controller that believes nothing: what it
/// fetches moves exactly the blocks and the memory that were asked for, in pieces no longer than allowed, or was
/// refused.

#include <xio/vendors/nvme/encode_more.hpp>

#include "fuzz/strict_controller.hpp"

namespace nvme = xio::nvme;
using xio::Sharing;
using xio::Status;
using xio::Token;

namespace {

using namespace fuzz;

/// A command with the bytes that it moves.
struct Wanted {
  nvme::Command command;
  uint64_t bytes = 0;
  bool splits = false;
};

Wanted take_command(Input& input, uint32_t block_shift) {
  const uint64_t lba = input.wide();
  const uint32_t blocks = 1 + (input.take<uint16_t>() >> (input.take() & 15));
  const uint32_t count = 1 + input.take();
  const uint32_t bytes = 4 * (1 + (input.take<uint16_t>() >> (input.take() & 15)));
  const uint64_t data = uint64_t{blocks} << block_shift;
  Wanted wanted;
  switch (input.up_to<uint8_t>(13)) {
    case 0: wanted = {nvme::read(lba, blocks), data, true}; break;
    case 1: wanted = {nvme::write(lba, blocks), data, true}; break;
    case 2: wanted = {nvme::compare(lba, blocks), data, true}; break;
    case 3: wanted = {nvme::write_zeroes(lba, blocks), 0, true}; break;
    case 4: wanted = {nvme::verify(lba, blocks), 0, true}; break;
    case 5: wanted = {nvme::zone_append(lba, blocks), data, false}; break;
    case 6: wanted = {nvme::flush(), 0, false}; break;
    case 7: wanted = {nvme::deallocate(count), 16 * count, false}; break;
    case 8: wanted = {nvme::copy(lba, count), 32 * count, false}; break;
    case 9: wanted = {nvme::reservation_report(bytes), bytes, false}; break;
    case 10: wanted = {nvme::io_management_receive(1, 0, bytes), bytes, false}; break;
    case 11:
      wanted = {nvme::zone_management_receive({nvme::ZoneReceiveAction::report, lba, bytes}), bytes, false};
      break;
    case 12: wanted = {nvme::reservation_register(0), 16, false}; break;
    default: wanted = {nvme::copy(lba, count, 1), 40 * count, false}; break;
  }
  const uint8_t more = input.take();
  if ((more & 1) != 0) wanted.command = wanted.command.nsid(1 + input.take<uint32_t>() % 0xfffffffe);
  if (wanted.splits && (more & 2) != 0) wanted.command = wanted.command.force_unit_access();
  if (wanted.splits && (more & 4) != 0) wanted.command = wanted.command.protection_action().reference_tag(count);
  return wanted;
}

/// The parts that a command should become, where all of it is submitted.
std::vector<Part> parts_of(const Wanted& wanted, const Extents& data, const nvme::QueueHandle& h, bool sgl) {
  std::vector<Part> parts;
  const uint32_t total = wanted.splits ? wanted.command.blocks() : 1;
  const uint32_t most = wanted.splits ? h.max_blocks : 1;
  for (uint32_t done = 0; done < total; done += most) {
    Part part;
    nvme::CommandWords& words = part.words;
    words = wanted.command;
    part.bytes = wanted.bytes;
    part.may_be_sgl = sgl;
    part.is_split = wanted.splits;
    if (wanted.splits) {
      const uint32_t blocks = total - done < most ? total - done : most;
      const uint64_t lba = wanted.command.lba() + done;
      words.cdw10 = static_cast<uint32_t>(lba);
      words.cdw11 = static_cast<uint32_t>(lba >> 32);
      words.last_block = blocks - 1;
      const uint32_t tagged = 1u << 29 | 1u << 26;
      if ((words.cdw12 & tagged) != 0) words.cdw14 += done;
      if (part.bytes != 0) part.bytes = uint64_t{blocks} << h.block_shift;
    }
    if (part.bytes != 0) {
      const auto here = part_of(data, uint64_t{done} << h.block_shift, part.bytes);
      if (!here) return {};
      part.data = *here;
    }
    parts.push_back(part);
  }
  return parts;
}

template <Sharing S, class Policy>
class Run {
 public:
  explicit Run(Input& input) : input_(input), shape_(input), controller_(shape_), queue_(shape_.handle) {}

  void all() {
    for (uint32_t step = 0; step < 40 && !input_.is_used_up(); ++step) {
      switch (input_.take() & 7) {
        case 0:
        case 1:
        case 2: submit(); break;
        case 3: batch(); break;
        case 4: controller_.fetch(); break;
        case 5:
          for (uint32_t left = 1 + (input_.take() & 15); left != 0; --left)
            controller_.complete(input_.take(), 0, input_.take());
          break;
        case 6: {
          const uint16_t field = input_.take<uint16_t>() & 0x7fff;
          controller_.complete(input_.take(), field, 0);
          break;
        }
        default: ask(); break;
      }
      expect(shape_.state.broken == 0, "nothing breaks the queue");
    }
    finish();
  }

 private:
  void submit() {
    const Wanted wanted = take_command(input_, shape_.handle.block_shift);
    const bool patient = input_.flag();
    switch (input_.take() & 3) {
      case 0: {
        const nvme::ContiguousPages pages{input_.take<uint32_t>() * (input_.flag() ? uint64_t{4} : shape_.page())};
        const Extents data{{pages.base, wanted.bytes}};
        post(wanted, pages, data, false, patient);
        break;
      }
      case 1: {
        const nvme::ContiguousPages pages{input_.take<uint32_t>()};
        const Extents data{{pages.base, wanted.bytes}};
        post(wanted, nvme::as_sgl(pages), data, true, patient);
        break;
      }
      default: {
        const bool sgl = input_.flag();
        const bool whole_pages = input_.flag();
        std::vector<nvme::Segment> segments;
        Extents data;
        uint64_t sum = 0;
        for (uint32_t left = 1 + (input_.take() & 7); left != 0; --left) {
          nvme::Segment one{input_.take<uint16_t>() * uint64_t{512}, input_.take<uint16_t>() * uint64_t{4}};
          if (whole_pages) one = {one.bus * 8 * 4, one.bytes / 4 % 32 * shape_.page()};
          segments.push_back(one);
          data.push_back({one.bus, one.bytes});
          sum += one.bytes;
        }
        // One more that holds the rest, most of the time.
        if (sum < wanted.bytes && input_.take() != 0) {
          const uint64_t bus = (uint64_t{1} << 36) + input_.take<uint16_t>() * shape_.page();
          segments.push_back({bus, wanted.bytes - sum});
          data.push_back({bus, wanted.bytes - sum});
        }
        const nvme::SegmentList pages{segments.data(), static_cast<uint32_t>(segments.size())};
        if (sgl) {
          post(wanted, nvme::as_sgl(pages), data, true, patient);
        } else {
          post(wanted, pages, data, false, patient);
        }
        break;
      }
    }
  }

  template <class Pages>
  void post(const Wanted& wanted, const Pages& pages, const Extents& data, bool sgl, bool patient) {
    const uint64_t before = xio::protocol::tickets(shape_.state.reserved);
    Token token;
    // A deadline that has passed: what it waits for would have to be there already.
    if (wanted.bytes == 0) {
      token = patient ? queue_.submit(wanted.command, nvme::NoData{}, xio::Deadline{0})
                      : queue_.try_submit(wanted.command, nvme::NoData{});
    } else {
      token =
          patient ? queue_.submit(wanted.command, pages, xio::Deadline{0}) : queue_.try_submit(wanted.command, pages);
    }
    const uint64_t added = xio::protocol::tickets(shape_.state.reserved) - before;
    const std::vector<Part> parts = parts_of(wanted, data, shape_.handle, sgl);
    expect(added <= parts.size(), "no more is submitted than was asked for, and nothing beyond the data's end");
    if (token.status.is_ok() && token.count != 0) {
      expect_same(parts.size(), added, "parts of what was accepted");
      expect(token.count <= added && token.last + 1 == before + added, "the token names the last parts");
      check_range(wanted);
      tokens_.push_back(token);
    } else {
      expect(!token.status.is_ok(), "a token is of something, or says why not");
      const bool some = patient && parts.size() > 1;
      if (!some) expect_same(0, added, "what was refused leaves no trace");
    }
    for (uint64_t i = 0; i < added; ++i) controller_.expect_part(parts[i]);
  }

  void check_range(const Wanted& wanted) const {
    const uint64_t blocks = shape_.handle.namespace_blocks;
    if (!wanted.splits || blocks == 0) return;
    expect(wanted.command.lba() < blocks && wanted.command.blocks() <= blocks - wanted.command.lba(),
           "what lies beyond the namespace's end is refused");
  }

  void batch() {
    std::vector<nvme::Piece> pieces(input_.up_to<uint8_t>(17));
    for (nvme::Piece& one : pieces)
      one = {input_.wide(), input_.take<uint32_t>() * uint64_t{4}, 1u + (input_.take() >> (input_.take() & 7))};
    const bool writes = input_.flag();
    const auto operation = writes ? nvme::Opcode::write : nvme::Opcode::read;
    const uint64_t before = xio::protocol::tickets(shape_.state.reserved);
    const auto count = static_cast<uint32_t>(pieces.size());
    const Token token = queue_.submit_batch(operation, pieces.data(), count, xio::Now{});
    const uint64_t added = xio::protocol::tickets(shape_.state.reserved) - before;
    if (token.count == 0) {
      expect(!token.status.is_ok(), "a batch is submitted, or says why not");
      expect_same(0, added, "a batch that was refused leaves no trace");
      return;
    }
    expect(token.count == count && added == count, "a batch is submitted as a whole");
    tokens_.push_back(token);
    for (const nvme::Piece& one : pieces) {
      const uint64_t bytes = uint64_t{one.blocks} << shape_.handle.block_shift;
      const Wanted wanted{writes ? nvme::write(one.lba, one.blocks) : nvme::read(one.lba, one.blocks), bytes, true};
      const std::vector<Part> parts = parts_of(wanted, {{one.bus, bytes}}, shape_.handle, false);
      expect_same(1, parts.size(), "parts of a piece of a batch");
      check_range(wanted);
      controller_.expect_part(parts.front());
    }
  }

  /// Asks for one of the tokens.
  void ask() {
    if (tokens_.empty()) return;
    const Token token = tokens_[input_.take() % tokens_.size()];
    const Status status = input_.flag() ? queue_.test(token) : queue_.wait(token, xio::Deadline{0});
    judge(token, status);
  }

  void judge(const Token& token, Status status) {
    bool ended = true;
    uint16_t error = 0;
    for (uint64_t ticket = token.last + 1 - token.count; ticket <= token.last; ++ticket) {
      ended = ended && controller_.has_ended(ticket);
      if (controller_.has_ended(ticket) && (controller_.status(ticket) & 0x7ff) != 0 && error == 0)
        error = controller_.status(ticket);
    }
    if (status == Status::pending || status == Status::would_block || status == Status::timed_out) return;
    if (status == Status::expired) {
      expect(xio::protocol::tickets(shape_.state.reserved) - token.last > shape_.handle.slot_mask - shape_.handle.depth,
             "a token expires not before its slot was used again");
      return;
    }
    expect(ended, "nothing ends before it was completed");
    if (status.is_ok()) expect(error == 0, "what failed is not ok");
    if (error != 0) expect(status.from_device(), "an error says that it is one");
    if (error == 0) expect(status.is_ok(), "what went well is ok");
  }

  /// Everything is executed and completed: all tokens get their answers.
  void finish() {
    for (uint32_t round = 0; shape_.state.retired != xio::protocol::tickets(shape_.state.reserved); ++round) {
      expect(round < 200, "a controller that completes everything empties the queue");
      queue_.ring();
      controller_.fetch();
      for (uint32_t i = 0; i <= shape_.handle.depth; ++i) {
        controller_.complete(input_.take(), 0, 0);
        queue_.drain();
      }
    }
    queue_.ring();
    controller_.fetch();
    expect_same(controller_.due(), xio::protocol::tickets(shape_.state.reserved),
                "everything that was accepted was announced");
    expect_same(controller_.completed(), shape_.state.retired, "every completion was taken");
    for (const Token& token : tokens_) judge(token, queue_.wait(token, xio::Deadline{0}));
  }

  Input& input_;
  NvmeQueueMemory shape_;
  StrictController controller_;
  nvme::Queue<S, Policy> queue_;
  std::vector<Token> tokens_;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const OneLane lane;
  Input input(data, size);
  switch (input.take() & 3) {
    case 0: Run<Sharing::thread, xio::Policy<>>(input).all(); break;
    case 1: Run<Sharing::grid, xio::Policy<>>(input).all(); break;
    case 2: Run<Sharing::thread, xio::Policy<xio::Deferred<3>>>(input).all(); break;
    default: Run<Sharing::grid, xio::Policy<xio::WriteThrough, xio::Deferred<5>>>(input).all(); break;
  }
  return 0;
}
