// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief The end of commands: what becomes of their errors, and of a drive that ends none.

#include <algorithm>
#include <string>
#include <utility>

#include <xio/nvme.hpp>

#include "fio/running.hpp"

namespace fio {

/// Polls without a completion between two looks at the clock; each may give way to another process.
constexpr uint32_t polls_between = 16;

inline void say(const std::string& line) { xf_say(line.c_str()); }

/// The error of an operation that never reached the drive. Tells the user `why`, once for each code.
int refused(xf_job& job, xio::Status::Code code, const std::string& why);
/// Takes a command that has failed, or that is not an operation of its own.
/// @param command as in Running::commands
void take_specially(xf_job& job, Running& running, uintptr_t command, uint16_t status_field);
/// Launches the kernel of executor=gpu again where it has ended while there is work.
void keep_running(xf_job& job, Running& running);
/// Asks whether a drive from which nothing comes is still there, and ends all that is in flight if not.
void look(xf_job& job, Running& running);

/// Moves what was not returned to the front.
inline void forget_returned(Running& running) {
  if (XIO_UNLIKELY(running.returned != running.ended_count))
    std::copy(running.ended.begin() + running.returned, running.ended.begin() + running.ended_count,
              running.ended.begin());
  running.ended_count -= running.returned;
  running.returned = 0;
}

inline void take(xf_job& job, Running& running, const xio::nvme::Completion& completion) {
  const uintptr_t command = std::exchange(running.commands[completion.slot], 0);
  if (XIO_UNLIKELY(!completion.is_ok() || (command & 1) != 0))
    return take_specially(job, running, command, completion.status_field);
  running.ended[running.ended_count++] = reinterpret_cast<void*>(command);
}

/// Takes completions until `enough()` holds, `most` of them at a time, or the drive is lost.
template <class Enough>
void drain(xf_job& job, Running& running, uint32_t most, Enough enough) {
  while (job.lost == 0) {
    const uint32_t taken = running.process_completions(
        [&](const xio::nvme::Completion& completion) { take(job, running, completion); }, most);
    if (taken != 0) {
      running.quiet_since = running.idle_polls = 0;
    } else {
      if (running.gpu) keep_running(job, running);
      if (++running.idle_polls % polls_between == 0) look(job, running);
    }
    if (enough()) return;
    xio::arch::pause(running.idle_polls);
  }
}

}  // namespace fio
