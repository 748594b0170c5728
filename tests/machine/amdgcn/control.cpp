// SPDX-License-Identifier: MIT
/// @file
/// @brief Branches, calls, waits, barriers, clocks; write-backs and invalidations.

#include <machine/amdgcn/handlers.hpp>
#include <machine/amdgcn/processor.hpp>
#include <machine/amdgcn/vector_source.hpp>

namespace machine::amdgcn {
namespace {

void branch_if(Wave& wave, const Instruction& i, bool taken) {
  if (taken) wave.counter = i.target;
}

uint64_t next_address(const Wave& wave) {
  const Program& program = wave.processor->program();
  return reinterpret_cast<uint64_t>(program.image()) + program.code()[wave.counter].address;
}

void jump(Wave& wave, uint64_t address) {
  Program& program = wave.processor->program();
  wave.counter = program.at(address - reinterpret_cast<uint64_t>(program.image()));
}

void get_counter(Wave& wave, const Instruction& i) { write_scalar64(wave, i.operand[0], next_address(wave)); }
void set_counter(Wave& wave, const Instruction& i) { jump(wave, scalar_value64(wave, i.operand[0])); }
void swap_counter(Wave& wave, const Instruction& i) {
  const uint64_t target = scalar_value64(wave, i.operand[1]);
  write_scalar64(wave, i.operand[0], next_address(wave));
  jump(wave, target);
}

void wait(Wave& wave, const Instruction& i) {
  wave.yielded = !wave.processor->wait(wave, i.waits);
  if (wave.yielded) return;
  ++wave.processor->counts.waits;
  wave.processor->hold_back(wave, i.dropped);
}

void clock(Wave& wave, const Instruction& i) {
  ScalarAccess access{};
  access.destination = i.operand[0].index;
  access.registers = 2;
  access.clock = true;
  access.message = i.mnemonic.compare(0, 9, "s_sendmsg") == 0;
  wave.processor->issue(wave, access);
}

void sleep(Wave& wave, const Instruction& i) { wave.processor->sleep(wave, (i.operand[0].value & 127) * 64 / 16); }

/// gfx12: arrives at the barrier; s_barrier_wait waits for the other waves.
void barrier_signal(Wave& wave, const Instruction& i) {
  if (i.operand[0].value != ~uint64_t{0}) throw Fault("barrier other than the workgroup's");
  wave.processor->signal(wave);
}
void barrier_wait(Wave& wave, const Instruction&) { wave.processor->await(wave); }
void barrier(Wave& wave, const Instruction&) {
  wave.processor->signal(wave);
  wave.processor->await(wave);
}

void write_back(Wave& wave, const Instruction& i) {
  auto access = wave.processor->new_access(wave, i, Access::Kind::write_back);
  wave.processor->issue(wave, std::move(access));
}
/// Without scope bits (gfx90a) the write-back is of system scope.
void write_back_all(Wave& wave, const Instruction& i) {
  if (wave.processor->model().scope_bits) return write_back(wave, i);
  auto access = wave.processor->new_access(wave, i, Access::Kind::write_back);
  access->scope = Scope::system;
  wave.processor->issue(wave, std::move(access));
}

void invalidate(Wave& wave, Scope scope, uint8_t levels) {
  ++wave.processor->counts.invalidations;
  wave.processor->caches().invalidate(wave.requester, scope, levels);
}
/// gfx942 and gfx12: invalidates the caches inside the scope.
void invalidate_scope(Wave& wave, const Instruction& i) {
  invalidate(wave, i.scope, i.scope == Scope::unit ? 0 : first_level | second_level);
}

}  // namespace

#define XIO_BRANCH(name, taken)                                            \
  {                                                                        \
    name, {                                                                \
      [](Wave& w, const Instruction& i) { branch_if(w, i, taken); }, plain \
    }                                                                      \
  }
#define XIO_HINT(name)                        \
  {                                           \
    name, {                                   \
      [](Wave&, const Instruction&) {}, plain \
    }                                         \
  }

void add_control(HandlerTable& table) {
  table.insert({
      XIO_BRANCH("s_branch", (static_cast<void>(w), true)),
      XIO_BRANCH("s_cbranch_scc0", !w.scc),
      XIO_BRANCH("s_cbranch_scc1", w.scc),
      XIO_BRANCH("s_cbranch_vccz", vcc_mask(w) == 0),
      XIO_BRANCH("s_cbranch_vccnz", vcc_mask(w) != 0),
      XIO_BRANCH("s_cbranch_execz", w.active() == 0),
      XIO_BRANCH("s_cbranch_execnz", w.active() != 0),
      {"s_getpc_b64", {get_counter, plain}},
      {"s_setpc_b64", {set_counter, plain}},
      {"s_swappc_b64", {swap_counter, plain}},
      {"s_waitcnt", {wait, plain}},
      {"s_waitcnt_vscnt", {wait, plain}},
      {"s_wait_loadcnt", {wait, plain}},
      {"s_wait_storecnt", {wait, plain}},
      {"s_wait_dscnt", {wait, plain}},
      {"s_wait_kmcnt", {wait, plain}},
      {"s_wait_loadcnt_dscnt", {wait, plain}},
      {"s_wait_storecnt_dscnt", {wait, plain}},
      {"s_memrealtime", {clock, plain}},
      {"s_memtime", {clock, plain}},
      {"s_sendmsg_rtn_b64", {clock, plain}},
      {"s_sleep", {sleep, plain}},
      {"s_barrier", {barrier, plain}},
      {"s_barrier_signal", {barrier_signal, plain}},
      {"s_barrier_wait", {barrier_wait, plain}},
      {"s_endpgm", {[](Wave& w, const Instruction&) { w.processor->end(w); }, plain}},
      XIO_HINT("s_wait_samplecnt"),
      XIO_HINT("s_wait_bvhcnt"),
      XIO_HINT("s_wait_expcnt"),
      XIO_HINT("s_waitcnt_depctr"),
      XIO_HINT("s_wait_alu"),
      XIO_HINT("s_wait_xcnt"),
      XIO_HINT("s_setreg_imm32_b32"),
      XIO_HINT("s_nop"),
      XIO_HINT("s_setprio"),
      XIO_HINT("s_set_vgpr_msb"),
      XIO_HINT("s_delay_alu"),
      XIO_HINT("s_clause"),
      XIO_HINT("s_set_inst_prefetch_distance"),
      XIO_HINT("s_icache_inv"),
      XIO_HINT("s_code_end"),
      // Releases registers before the end.
      XIO_HINT("s_sendmsg"),
  });
}

#undef XIO_BRANCH
#undef XIO_HINT

void add_cache_control(HandlerTable& table) {
  table.insert({
      {"buffer_wbl2", {write_back_all, plain}},
      {"global_wb", {write_back, plain}},
      {"buffer_inv", {invalidate_scope, plain}},
      {"global_inv", {invalidate_scope, plain}},
      {"buffer_wbinvl1_vol", {[](Wave& w, const Instruction&) { invalidate(w, Scope::agent, first_level); }, plain}},
      {"buffer_wbinvl1", {[](Wave& w, const Instruction&) { invalidate(w, Scope::agent, first_level); }, plain}},
      {"buffer_invl2", {[](Wave& w, const Instruction&) { invalidate(w, Scope::system, second_level); }, plain}},
      {"buffer_gl0_inv", {[](Wave& w, const Instruction&) { invalidate(w, Scope::agent, first_level); }, plain}},
      {"buffer_gl1_inv", {[](Wave& w, const Instruction&) { invalidate(w, Scope::agent, array_level); }, plain}},
      {"s_dcache_inv",
       {[](Wave& w, const Instruction&) { w.processor->caches().invalidate_scalar(w.requester); }, plain}},
  });
}

}  // namespace machine::amdgcn
