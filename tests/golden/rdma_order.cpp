// SPDX-License-Identifier: MIT

#include "rdma_order.hpp"

#include <algorithm>
#include <map>

#include "rdma_stage.hpp"

namespace golden::rdma {

namespace {

using xio::arch::FenceKind;

/// What the driver did between two barriers.
struct Step {
  Role role;
  std::string region;
  uint64_t offset;
  uint64_t bytes;
  size_t barriers;  ///< before it

  bool overlaps(const std::string& where, uint64_t begin, uint64_t length) const {
    return region == where && begin < offset + bytes && offset < begin + length;
  }
};

/// Events without what is stored to once more later.
std::vector<Step> final_steps(const Json& events) {
  std::vector<Step> steps;
  size_t barriers = 0;
  for (const Json& event : events) {
    const auto kind = member(event, "ev").get<std::string>();
    if (kind == "barrier") {
      ++barriers;
      continue;
    }
    const bool is_memory = kind == "mem_changed";
    if (!is_memory && kind != "mmio_store") throw Mismatch("an event of an unknown kind: " + kind);
    const auto region = member(event, "region").get<std::string>();
    const Step step{role_of(region), region, number_at(event, "off"), number_at(event, is_memory ? "len" : "size"),
                    barriers};
    const auto is_over = [&](const Step& before) {
      if (step.role == Role::registers) return before.role == Role::registers;
      return before.overlaps(step.region, step.offset, step.bytes);
    };
    steps.erase(std::remove_if(steps.begin(), steps.end(), is_over), steps.end());
    steps.push_back(step);
  }
  return steps;
}

std::string text_of(const Step& step) {
  return step.role == Role::registers ? "the doorbell" : step.region + " + " + hex_number(step.offset);
}

/// Between the store number `next` and the one before it, counting those of the lane that makes it.
void expect_fences(const Posted& posted, size_t next, size_t releases, size_t waits) {
  const Store& store = posted.stores[next];
  const auto count = [&](FenceKind kind) {
    return static_cast<size_t>(std::count_if(posted.fences.begin(), posted.fences.end(), [&](const Fence& fence) {
      return fence.kind == kind && fence.lane == store.lane && fence.stores == next;
    }));
  };
  expect_number("releases before the store to " + store.region, releases, count(FenceKind::release));
  expect_number("waits for stores before the store to " + store.region, waits, count(FenceKind::store_wait));
}

}  // namespace

void expect_order(const Posted& posted) {
  std::map<Role, size_t> announced;
  Role before = Role::entry;
  for (size_t i = 0; i < posted.stores.size(); ++i) {
    const std::string& region = posted.stores[i].region;
    const Role role = role_of(region);
    if (role < before) throw Mismatch(region + " was stored to after " + posted.stores[i - 1].region);
    if (role != Role::entry) ++announced[role];
    if (role != before) {
      if (i == 0) throw Mismatch(region + " was stored to without an entry");
      expect_fences(posted, i, before == Role::entry ? 1 : 0, before == Role::entry ? 0 : 1);
    }
    before = role;
  }
  for (const auto& [role, stores] : announced) {
    expect_number(role == Role::record ? "stores to the record" : "doorbells", 1, stores);
  }
  if (announced.empty() && !posted.stores.empty()) throw Mismatch("entries that were not announced");
}

void expect_recorded_order(const Json& events, const Posted& posted) {
  const std::vector<Step> steps = final_steps(events);
  const auto is_at = [&](const Step& step) {
    return [&step](const Store& store) {
      if (step.role == Role::registers) return store.is_register;
      return !store.is_register && step.overlaps(store.region, store.offset, store.bytes.size());
    };
  };
  for (const Step& first : steps) {
    const auto last = std::find_if(posted.stores.rbegin(), posted.stores.rend(), is_at(first));
    if (last == posted.stores.rend()) continue;
    const auto after = static_cast<size_t>(posted.stores.rend() - last);
    for (const Step& second : steps) {
      if (first.barriers >= second.barriers) continue;
      // A driver may put a barrier behind each entry of a call; none is read before it is announced.
      if (first.role == Role::entry && second.role == Role::entry) continue;
      const auto next = std::find_if(posted.stores.begin(), posted.stores.end(), is_at(second));
      if (next == posted.stores.end()) continue;
      const auto until = static_cast<size_t>(next - posted.stores.begin());
      const auto fence = std::find_if(posted.fences.begin(), posted.fences.end(),
                                      [&](const Fence& one) { return one.stores >= after && one.stores <= until; });
      if (after <= until && fence != posted.fences.end()) continue;
      throw Mismatch("order\n      expected " + text_of(first) + ", a barrier, " + text_of(second) +
                     "\n      actual   " + (after > until ? "the other way round" : "no fence between"));
    }
  }
}

}  // namespace golden::rdma
