// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief The part of QEMU's interface for TCG plugins (version 3, QEMU 9 and later) that instructions.cpp uses. QEMU's
/// documentation: docs/devel/tcg-plugins.rst. Debian packages no header of it.

#include <cstddef>
#include <cstdint>

extern "C" {

struct qemu_plugin_tb;
struct qemu_plugin_insn;
struct qemu_plugin_hwaddr;
struct qemu_plugin_scoreboard;
struct qemu_info_t;

using qemu_plugin_id_t = uint64_t;
using qemu_plugin_meminfo_t = uint32_t;
struct qemu_plugin_u64 {
  qemu_plugin_scoreboard* score;
  size_t offset;
};
enum qemu_plugin_op { QEMU_PLUGIN_INLINE_ADD_U64 };
enum qemu_plugin_cb_flags { QEMU_PLUGIN_CB_NO_REGS };
enum qemu_plugin_mem_rw { QEMU_PLUGIN_MEM_R = 1, QEMU_PLUGIN_MEM_W };

using qemu_plugin_vcpu_tb_trans_cb_t = void (*)(qemu_plugin_id_t id, qemu_plugin_tb* tb);
using qemu_plugin_vcpu_mem_cb_t = void (*)(unsigned vcpu, qemu_plugin_meminfo_t info, uint64_t address, void* data);

void qemu_plugin_register_vcpu_tb_trans_cb(qemu_plugin_id_t id, qemu_plugin_vcpu_tb_trans_cb_t callback);
size_t qemu_plugin_tb_n_insns(const qemu_plugin_tb* tb);
qemu_plugin_insn* qemu_plugin_tb_get_insn(const qemu_plugin_tb* tb, size_t index);
uint64_t qemu_plugin_insn_vaddr(const qemu_plugin_insn* insn);
void qemu_plugin_register_vcpu_insn_exec_inline_per_vcpu(qemu_plugin_insn* insn, qemu_plugin_op op,
                                                         qemu_plugin_u64 entry, uint64_t value);
void qemu_plugin_register_vcpu_mem_cb(qemu_plugin_insn* insn, qemu_plugin_vcpu_mem_cb_t callback,
                                      qemu_plugin_cb_flags flags, qemu_plugin_mem_rw rw, void* data);
qemu_plugin_hwaddr* qemu_plugin_get_hwaddr(qemu_plugin_meminfo_t info, uint64_t address);
bool qemu_plugin_hwaddr_is_io(const qemu_plugin_hwaddr* address);
uint64_t qemu_plugin_hwaddr_phys_addr(const qemu_plugin_hwaddr* address);
const char* qemu_plugin_hwaddr_device_name(const qemu_plugin_hwaddr* address);
qemu_plugin_scoreboard* qemu_plugin_scoreboard_new(size_t element_size);
uint64_t qemu_plugin_u64_get(qemu_plugin_u64 entry, unsigned vcpu);

}  // extern "C"
