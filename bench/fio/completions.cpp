// SPDX-License-Identifier: MIT
#include "fio/completions.hpp"

#include <cerrno>
#include <chrono>

#include <xio/host/errno.hpp>
#include <xio/host/text.hpp>
#include <xio/vendors/nvme/status_names.hpp>

namespace host = xio::host;
namespace nvme = xio::nvme;
using xio::Status;

namespace fio {

namespace {

constexpr uint64_t nanoseconds = 1000000000;
/// How long nothing has ended before the drive is asked whether it is still there.
constexpr uint64_t looks_after = nanoseconds / 10;
/// How long a drive may take for an operation.
constexpr uint64_t gives_up_after = 30 * nanoseconds;
uint64_t now() {
  const auto since = std::chrono::steady_clock::now().time_since_epoch();
  return static_cast<uint64_t>(std::chrono::duration_cast<std::chrono::nanoseconds>(since).count());
}

template <class T>
bool add_once(std::vector<T>& all, T one) {
  if (std::find(all.begin(), all.end(), one) != all.end()) return false;
  all.push_back(one);
  return true;
}

/// The error of a command that has failed. Tells the user of each status once.
int failed(xf_job& job, uint16_t field) {
  const Status status = nvme::CompletionFormat::decode(field);
  const auto code = static_cast<uint16_t>(field & 0x7ff);
  if (add_once(job.reported, code))
    say(std::string("the drive reports: ") + nvme::status_name(code) + " (status " + host::to_hex(code, 3) + ", " +
        xio::name(status.code) + ")");
  return host::errno_of(status);
}

void end(Running& running, void* tag, int error) {
  // A flush is waited for where it was submitted.
  if (tag == nullptr) return;
  if (error != 0) xf_fail(tag, error);
  running.ended[running.ended_count++] = tag;
}

uint64_t in_flight(const Running& running) {
  return running.commands.size() -
         static_cast<uint64_t>(std::count(running.commands.begin(), running.commands.end(), uintptr_t{0}));
}

/// Ends all that is in flight with an error: fio waits for it.
void lose(xf_job& job, Running& running, int error, const std::string& why) {
  say(why + "; commands in flight: " + std::to_string(in_flight(running)));
  job.lost = error;
  running.largest = 0;
  for (uintptr_t& command : running.commands) {
    const uintptr_t one = std::exchange(command, 0);
    if (one == 0) continue;
    if ((one & 1) == 0) {
      end(running, reinterpret_cast<void*>(one), error);
      continue;
    }
    Operation& operation = running.operations[one >> 1];
    operation.error = error;
    if (--operation.left == 0) end(running, operation.tag, error);
  }
}

void check_kernel(xf_job& job, Running& running) try { running.gpu->check(); } catch (const host::Error& error) {
  lose(job, running, EIO, error.what());
}

}  // namespace

int refused(xf_job& job, Status::Code code, const std::string& why) {
  if (add_once(job.refusals, code)) say(why);
  return host::errno_of(code);
}

void take_specially(xf_job& job, Running& running, uintptr_t command, uint16_t status_field) {
  const int error = nvme::CompletionFormat::is_error(status_field) ? failed(job, status_field) : 0;
  if ((command & 1) == 0) return end(running, reinterpret_cast<void*>(command), error);
  Operation& operation = running.operations[command >> 1];
  if (operation.error == 0) operation.error = error;
  if (--operation.left == 0) end(running, operation.tag, operation.error);
}

void keep_running(xf_job& job, Running& running) try { running.gpu->keep_running(); } catch (const host::Error& error) {
  lose(job, running, EIO, error.what());
}

void look(xf_job& job, Running& running) {
  const uint64_t time = now();
  if (running.quiet_since == 0) running.quiet_since = running.looked_at = time;
  if (time - running.looked_at < looks_after) return;
  running.looked_at = time;
  if (in_flight(running) == 0) {
    running.quiet_since = 0;
    return;
  }
  if (running.gpu) check_kernel(job, running);
  if (job.lost != 0) return;
  if (!job.controller().alive()) {
    lose(job, running, ENODEV, job.drive->opened.loss());
  } else if (time - running.quiet_since >= gives_up_after) {
    lose(job, running, ETIMEDOUT,
         job.spec + " has completed nothing for " + std::to_string(gives_up_after / nanoseconds) + " s");
  }
}

}  // namespace fio
