// SPDX-License-Identifier: MIT

#include "rdma_stage.hpp"

#include <algorithm>
#include <cstring>

namespace golden::rdma {

namespace {

using xio::arch::StoreKind;

StoreKind kind_for(Role role) {
  switch (role) {
    case Role::entry: return StoreKind::entry;
    case Role::record: return StoreKind::word;
    case Role::registers: return StoreKind::mmio;
  }
  return StoreKind::word;
}

}  // namespace

Role role_of(const std::string& region) {
  static const char* const entries[] = {"sq", "rq", "sq_cmb", "rq_cmb", "msn_table", "psn_table", "push_page"};
  static const char* const records[] = {"qp_dbrec", "qp_ring_state", "cq_dbrec", "cq_ring_state"};
  const auto is_in = [&](const auto& names) {
    return std::find(std::begin(names), std::end(names), region) != std::end(names);
  };
  if (is_in(entries)) return Role::entry;
  return is_in(records) ? Role::record : Role::registers;
}

void Stage::add(const std::string& name, const Bytes& content) {
  Region region{name, std::vector<Line>(content.size() / sizeof(Line) + 1), content};
  std::memcpy(region.memory.data(), content.data(), content.size());
  regions_.push_back(std::move(region));
}

void Stage::add_state(const void* begin, size_t bytes) {
  state_.emplace_back(static_cast<const uint8_t*>(begin), bytes);
}

const Stage::Region& Stage::find(const std::string& name) const {
  const auto found =
      std::find_if(regions_.begin(), regions_.end(), [&](const Region& one) { return one.name == name; });
  if (found == regions_.end()) throw Mismatch("no region " + name);
  return *found;
}

uint8_t* Stage::byte_at(const std::string& name, uint64_t offset) {
  const Region& region = find(name);
  if (offset > region.shadow.size()) throw Mismatch("a place beyond the end of " + name);
  return const_cast<uint8_t*>(region.begin()) + offset;
}

Bytes Stage::content(const std::string& name) const {
  const Region& region = find(name);
  return Bytes(region.begin(), region.begin() + region.shadow.size());
}

void Stage::on_store(StoreKind kind, const void* to, const void* value, uint32_t bytes) {
  const auto* const where = static_cast<const uint8_t*>(to);
  const auto* const from = static_cast<const uint8_t*>(value);
  for (Region& region : regions_) {
    if (where < region.begin() || where >= region.begin() + region.shadow.size()) continue;
    const auto offset = static_cast<size_t>(where - region.begin());
    const Role role = role_of(region.name);
    if (offset + bytes > region.shadow.size()) {
      fault_ = "a store beyond the end of " + region.name;
    } else if (kind != kind_for(role)) {
      fault_ = "a store to " + region.name + " of a kind that is for something else";
    } else {
      std::copy(from, from + bytes, region.shadow.begin() + static_cast<std::ptrdiff_t>(offset));
    }
    stores_.push_back({role == Role::registers, region.name, offset, Bytes(from, from + bytes), {}, xio::arch::lane()});
    return;
  }
  for (const auto& [begin, size] : state_) {
    if (where >= begin && where + bytes <= begin + size) return;
  }
  fault_ = "a store to memory that is no part of the queue pair";
}

void Stage::on_fence(xio::arch::FenceKind kind) { fences_.push_back({kind, stores_.size(), xio::arch::lane()}); }

void Stage::take(Posted& posted) {
  posted.stores = std::exchange(stores_, {});
  posted.fences = std::exchange(fences_, {});
  if (!fault_.empty()) throw Mismatch(std::exchange(fault_, {}));
  for (const Region& region : regions_) {
    if (!std::equal(region.shadow.begin(), region.shadow.end(), region.begin())) {
      throw Mismatch(region.name + " was changed by a store that is no store to a device");
    }
  }
}

}  // namespace golden::rdma
