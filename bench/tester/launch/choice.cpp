// SPDX-License-Identifier: MIT
#include "tester/launch/choice.hpp"

#include <xio/host/gpu/find.hpp>

#include "tester/cli/errors.hpp"
#include "tester/launch/gpu/images.hpp"

namespace tester {

ChosenExecutor choose_executor(Executor wanted, uint32_t number) {
  ChosenExecutor chosen;
  if (wanted == Executor::host) return chosen;
  xio::host::FoundGpu found = xio::host::find_gpu(static_cast<int>(number));
  if (!found.runtime) {
    chosen.why_not_gpu = "there is no GPU " + std::to_string(number) + " (" + found.why_none + ")";
  } else if (!has_image(found.runtime->target())) {
    const std::string offered = image_targets();
    chosen.why_not_gpu = "this build has no kernels for " + found.runtime->description() + ", a " +
                         found.runtime->target() + "; it has " +
                         (offered.empty() ? "none: build it with clang 19" : "some for " + offered);
  } else {
    chosen.gpu = std::move(found.runtime);
  }
  if (wanted == Executor::gpu && !chosen.gpu)
    throw CannotRun("--executor gpu: " + chosen.why_not_gpu + "; --executor host is offered");
  return chosen;
}

}  // namespace tester
