// SPDX-License-Identifier: MIT
/// @file
/// @brief The short form of instructions, which step() executes.

#include <machine/ptx/arithmetic.hpp>
#include <machine/ptx/program.hpp>

#include <unordered_map>

namespace machine::ptx {

namespace {

class Shortener {
 public:
  explicit Shortener(Function& function) : function_(function) {}

  Quick of(const Instruction& i) {
    Quick out;
    out.predicate = i.predicate;
    out.predicate_negated = i.predicate_negated;
    if (i.removed) {
      out.what = Quick::removed;
    } else if (i.kind == Kind::branch) {
      out.what = Quick::branch;
      out.target = i.target;
    } else if (i.kind == Kind::compute ||
               (i.kind == Kind::compare && i.how == How::none && i.outputs == 1 && i.value_of_true == 1)) {
      compute(i, out);
    } else if (i.kind == Kind::convert_address && i.space != Space::shared && i.space != Space::local) {
      copy(i, out);
    }
    return out;
  }

 private:
  static bool simple(const Instruction& i) {
    bool out = i.out[0].index >= 0;
    for (uint32_t k = 0; k < i.inputs; ++k) out = out && !i.in[k].negated;
    return out;
  }
  void compute(const Instruction& i, Quick& out) {
    if (!simple(i)) return;
    bool known = true;
    for (const Operand& one : i.in) known = known && one.index < 0;
    out.out = i.out[0].index;
    if (known) {
      out.what = Quick::constant_only;
      out.constant = i.compute(i.in[0].value, i.in[1].value, i.in[2].value, i.in[3].value);
    } else if (i.compute == move_of_64_) {
      out.what = Quick::copy;
      out.in[0] = i.in[0].index;
    } else {
      out.compute = i.compute;
      out.in[0] = place(i.in[0]);
      if (i.inputs <= 2 && i.in[1].index < 0) {
        out.what = Quick::compute_with_constant;
        out.constant = i.in[1].value;
        return;
      }
      out.what = i.inputs > 2 ? Quick::compute_of_four : Quick::compute_of_two;
      out.in[1] = place(i.in[1]);
      for (uint32_t k = 0; k < 2 && i.inputs > 2; ++k) out.more[k] = place(i.in[2 + k]);
    }
  }
  void copy(const Instruction& i, Quick& out) {
    if (!simple(i)) return;
    out.what = Quick::copy;
    out.out = i.out[0].index;
    out.in[0] = place(i.in[0]);
  }
  int32_t place(const Operand& operand) { return operand.index >= 0 ? operand.index : constant(operand.value); }
  /// Constants are in front of the registers, the last one first.
  int32_t constant(uint64_t value) {
    const auto [found, fresh] = places_.emplace(value, -1 - static_cast<int32_t>(function_.constants.size()));
    if (fresh) function_.constants.push_back(value);
    return found->second;
  }

  Function& function_;
  std::unordered_map<uint64_t, int32_t> places_;
  const Compute move_of_64_ = move_of({'b', 64});
};

}  // namespace

void shorten(Function& function) {
  function.constants.clear();
  function.quick.clear();
  Shortener shortener(function);
  for (const Instruction& i : function.code) function.quick.push_back(shortener.of(i));
  Quick end;
  end.what = Quick::end;
  function.quick.push_back(end);
}

}  // namespace machine::ptx
