// SPDX-License-Identifier: MIT
#include <machine/timed/traffic.hpp>

#include <algorithm>

namespace machine::timed {

void Traffic::reset(uint32_t warps, uint32_t blocks) {
  warps_.assign(warps, {});
  blocks_.assign(blocks, {});
  busy_.clear();
  cached_.clear();
  for (std::vector<Fence>& one : fences_) one.clear();
  far_path_ = 0;
}

/// Waits until a line or word is free, and takes it for a while.
double Traffic::behind(uint64_t what, double at, double each) {
  double& busy = busy_[what];
  const double begin = std::max(at, busy);
  busy = begin + each;
  return begin;
}

double Traffic::load(const Access& access, bool cached, bool constant, bool& from_cache) {
  Warp& warp = warps_[access.warp];
  Block& block = blocks_[access.block];
  const uint64_t line = access.address / 128;
  double ready = 0;
  from_cache = false;
  if (warp.repeats(access)) {
    // Lanes of one instruction share its trip; each further sector lengthens it.
    ready = warp.ready;
    if (access.address / 32 != warp.address / 32) {
      block.path += latencies_.load_sector;
      ready += latencies_.load_sector;
    }
    if (line != warp.address / 128 && !cached) behind(access.address / 64, access.at, latencies_.line);
  } else if (cached && !access.far) {
    uint64_t& epoch = cached_[line * 4096 + access.block];
    const uint64_t wanted = constant ? 1 : block.epoch;
    from_cache = epoch == wanted;
    ready = access.at + (from_cache ? latencies_.load_l1 : latencies_.load_near);
    epoch = wanted;
  } else {
    block.path = std::max(block.path, access.at) + latencies_.load_sector;
    ready = behind(access.address / 64, block.path, latencies_.line) +
            (access.far ? latencies_.load_far : latencies_.load_near);
  }
  warp = {access.instruction, access.at, ready, access.address};
  return ready;
}

double Traffic::store(const Access& access) {
  Warp& warp = warps_[access.warp];
  Block& block = blocks_[access.block];
  const bool repeats = warp.repeats(access);
  if (!repeats || access.address / 32 != warp.address / 32)
    block.path = std::max(block.path, access.at) + latencies_.store_sector;
  if (access.far && (!repeats || access.address / 64 != warp.address / 64))
    far_path_ = std::max(far_path_, access.at) + latencies_.far_line;
  warp = {access.instruction, access.at, 0, access.address};
  return access.far ? std::max(block.path, far_path_) : block.path;
}

double Traffic::atomic(const Access& access) {
  return behind(access.address / 32, access.at, latencies_.word) +
         (access.far ? latencies_.atomic_far : latencies_.atomic_near);
}

double Traffic::fence(uint32_t warp, const Outstanding& outstanding, Reach reach, double at) {
  double end = at + latencies_.fence_block;
  if (reach != Reach::block) {
    const bool system = reach == Reach::system;
    std::vector<Fence>& others = fences_[system];
    // Lanes of a warp that fence together are one.
    others.erase(std::remove_if(others.begin(), others.end(),
                                [&](const Fence& one) { return one.end <= at || one.warp == warp; }),
                 others.end());
    const double waves = 1 + static_cast<double>(others.size());
    const auto after = [&](const Curve& of_gpu, const Curve& of_system) {
      return system ? of_system.at(waves) : of_gpu.at(waves);
    };
    end = at + after(latencies_.fence_gpu, latencies_.fence_system);
    end = std::max(end, outstanding.near_store + after(latencies_.fence_gpu_near, latencies_.fence_system_near));
    end = std::max(end, outstanding.far_store + after(latencies_.fence_gpu_far, latencies_.fence_system_far));
    others.push_back({warp, end});
  }
  return std::max(end, outstanding.loads);
}

}  // namespace machine::timed
