// SPDX-License-Identifier: MIT
/// @file
/// @brief Names of special registers.

#include <map>

#include <machine/ptx/arithmetic.hpp>

namespace machine::ptx {

bool special_register(const std::string& name, Special& out) {
  static const std::map<std::string, Special> all = {{"%tid.x", Special::tid_x},
                                                     {"%tid.y", Special::tid_y},
                                                     {"%tid.z", Special::tid_z},
                                                     {"%ntid.x", Special::ntid_x},
                                                     {"%ntid.y", Special::ntid_y},
                                                     {"%ntid.z", Special::ntid_z},
                                                     {"%ctaid.x", Special::ctaid_x},
                                                     {"%ctaid.y", Special::ctaid_y},
                                                     {"%ctaid.z", Special::ctaid_z},
                                                     {"%nctaid.x", Special::nctaid_x},
                                                     {"%nctaid.y", Special::nctaid_y},
                                                     {"%nctaid.z", Special::nctaid_z},
                                                     {"%laneid", Special::lane},
                                                     {"%warpid", Special::warp},
                                                     {"%nwarpid", Special::warps},
                                                     {"%smid", Special::smid},
                                                     {"%gridid", Special::gridid},
                                                     {"%lanemask_eq", Special::lanemask_eq},
                                                     {"%lanemask_lt", Special::lanemask_lt},
                                                     {"%lanemask_le", Special::lanemask_le},
                                                     {"%lanemask_gt", Special::lanemask_gt},
                                                     {"%lanemask_ge", Special::lanemask_ge},
                                                     {"%globaltimer", Special::globaltimer},
                                                     {"%globaltimer_lo", Special::globaltimer_lo},
                                                     {"%clock", Special::clock},
                                                     {"%clock_hi", Special::clock_hi},
                                                     {"%clock64", Special::clock64},
                                                     {"%dynamic_smem_size", Special::dynamic_shared},
                                                     {"%total_smem_size", Special::total_shared}};
  const auto found = all.find(name);
  if (found == all.end()) return false;
  out = found->second;
  return true;
}

}  // namespace machine::ptx
