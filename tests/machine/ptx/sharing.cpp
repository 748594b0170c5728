// SPDX-License-Identifier: MIT
/// @file
/// @brief Registers that are never live at the same time share a place: compilers declare thousands of them, and the
/// threads of a launch would not fit in a cache.
///
/// A register keeps its place from the first to the last instruction, in the order of the text, at which it is live.

#include <machine/ptx/program.hpp>

#include <algorithm>
#include <queue>
#include <unordered_map>

namespace machine::ptx {

namespace {

class Sharing {
 public:
  explicit Sharing(Function& function) : function_(function), spans_(function.registers) {}

  void run() {
    find_blocks();
    find_spans();
    if (!wide_.empty()) spread();
    assign();
  }

 private:
  struct Span {
    uint32_t first = ~0u;
    uint32_t last = 0;
    uint32_t block = ~0u;
    bool wide = false;  ///< may be live where its block begins or ends
    uint32_t wide_index = 0;
    void reach(uint32_t at) {
      first = std::min(first, at);
      last = std::max(last, at);
    }
  };
  struct Block {
    uint32_t begin = 0;
    uint32_t end = 0;
    std::vector<uint32_t> next;
    std::vector<uint64_t> read;     ///< before it is written
    std::vector<uint64_t> written;  ///< without a condition
    std::vector<uint64_t> live;     ///< where it begins
  };

  /// Calls `use(register)` of an instruction's inputs, then `define(register)` of its outputs.
  template <class Use, class Define>
  static void visit(Instruction& i, Use use, Define define) {
    if (i.predicate >= 0) use(i.predicate);
    const auto each = [](Operand& one, auto what) {
      if (one.index >= 0) what(one.index);
    };
    for (Operand& one : i.in) each(one, use);
    each(i.base, use);
    for (Operand& one : i.out) {
      if (i.kind == Kind::store)
        each(one, use);
      else
        each(one, define);
    }
  }
  static bool ends_block(const Instruction& i) {
    return i.kind == Kind::branch || i.kind == Kind::leave || i.kind == Kind::exit || i.kind == Kind::trap;
  }

  void find_blocks() {
    const auto size = static_cast<uint32_t>(function_.code.size());
    std::vector<bool> begins(size + 1);
    begins[0] = true;
    for (uint32_t at = 0; at < size; ++at) {
      const Instruction& i = function_.code[at];
      if (i.kind == Kind::branch) begins[static_cast<uint32_t>(i.target)] = true;
      if (ends_block(i)) begins[at + 1] = true;
    }
    block_at_.resize(size + 1);
    for (uint32_t at = 0; at < size; ++at) {
      if (begins[at]) {
        blocks_.emplace_back();
        blocks_.back().begin = at;
      }
      blocks_.back().end = at + 1;
      block_at_[at] = static_cast<uint32_t>(blocks_.size() - 1);
    }
    for (Block& one : blocks_) {
      const Instruction& last = function_.code[one.end - 1];
      if (last.kind == Kind::branch && static_cast<uint32_t>(last.target) < size)
        one.next.push_back(block_at_[static_cast<uint32_t>(last.target)]);
      if ((!ends_block(last) || last.predicate >= 0) && one.end < size) one.next.push_back(block_at_[one.end]);
    }
  }

  void find_spans() {
    for (uint32_t at = 0; at < function_.code.size(); ++at) {
      const auto meet = [&](int32_t which, bool writes) {
        Span& span = spans_[static_cast<size_t>(which)];
        // A register that is written first and used in one block only is live nowhere else.
        if (span.block == ~0u) {
          span.wide = !writes;
          span.block = block_at_[at];
        }
        span.wide = span.wide || span.block != block_at_[at];
        span.reach(at);
      };
      const bool sure = function_.code[at].predicate < 0;
      visit(function_.code[at], [&](int32_t which) { meet(which, false); }, [&](int32_t which) { meet(which, sure); });
    }
    for (uint32_t which = 0; which < spans_.size(); ++which) {
      if (!spans_[which].wide) continue;
      spans_[which].wide_index = static_cast<uint32_t>(wide_.size());
      wide_.push_back(which);
    }
  }

  /// Finds where registers that are used in several blocks are live.
  void spread() {
    const size_t words = (wide_.size() + 63) / 64;
    for (Block& one : blocks_) {
      one.read.resize(words);
      one.written.resize(words);
      for (uint32_t at = one.begin; at < one.end; ++at) {
        const bool sure = function_.code[at].predicate < 0;
        const auto mark = [&](int32_t which, bool writes) {
          const Span& span = spans_[static_cast<size_t>(which)];
          if (!span.wide) return;
          const size_t word = span.wide_index / 64;
          const uint64_t bit = uint64_t{1} << span.wide_index % 64;
          if (writes)
            one.written[word] |= sure ? bit : 0;
          else
            one.read[word] |= bit & ~one.written[word];
        };
        visit(
            function_.code[at], [&](int32_t which) { mark(which, false); }, [&](int32_t which) { mark(which, true); });
      }
      one.live = one.read;
    }
    for (bool changed = true; changed;) {
      changed = false;
      for (size_t b = blocks_.size(); b-- > 0;) {
        Block& one = blocks_[b];
        for (const uint32_t next : one.next) {
          for (size_t w = 0; w < words; ++w) {
            const uint64_t more = blocks_[next].live[w] & ~one.written[w] & ~one.live[w];
            one.live[w] |= more;
            changed = changed || more != 0;
          }
        }
      }
    }
    for (const Block& one : blocks_) {
      reach(one.live, one.begin);
      for (const uint32_t next : one.next) reach(blocks_[next].live, one.end - 1);
    }
  }
  void reach(const std::vector<uint64_t>& live, uint32_t at) {
    for (size_t w = 0; w < live.size(); ++w) {
      for (uint64_t rest = live[w]; rest != 0; rest &= rest - 1)
        spans_[wide_[64 * w + static_cast<uint32_t>(__builtin_ctzll(rest))]].reach(at);
    }
  }

  void assign() {
    std::vector<uint32_t> order;
    for (uint32_t which = 0; which < spans_.size(); ++which)
      if (spans_[which].block != ~0u) order.push_back(which);
    std::sort(order.begin(), order.end(), [&](uint32_t a, uint32_t b) { return spans_[a].first < spans_[b].first; });
    using Busy = std::pair<uint32_t, int32_t>;  // last use, place
    std::priority_queue<Busy, std::vector<Busy>, std::greater<>> busy;
    std::vector<int32_t> places(spans_.size(), -1);
    int32_t used = 0;
    for (const uint32_t which : order) {
      if (!busy.empty() && busy.top().first < spans_[which].first) {
        places[which] = busy.top().second;
        busy.pop();
      } else {
        places[which] = used++;
      }
      busy.emplace(spans_[which].last, places[which]);
    }
    function_.places = static_cast<uint32_t>(used);
    const auto move = [&](int32_t& index) { index = places[static_cast<size_t>(index)]; };
    for (Instruction& i : function_.code) visit(i, move, move);
  }

  Function& function_;
  std::vector<Span> spans_;  ///< by register
  std::vector<uint32_t> wide_;
  std::vector<Block> blocks_;
  std::vector<uint32_t> block_at_;
};

}  // namespace

void share_places(Function& function) {
  if (function.shared_places) return;
  function.shared_places = true;
  if (!function.code.empty()) Sharing(function).run();
}

}  // namespace machine::ptx
