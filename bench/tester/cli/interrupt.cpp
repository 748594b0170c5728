// SPDX-License-Identifier: MIT
#include "tester/cli/interrupt.hpp"

#include <signal.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <cerrno>

#include "tester/cli/errors.hpp"
#include "tester/cli/stop_request.hpp"

namespace tester {

namespace {

alignas(64) uint32_t stop_word = 0;
int wake_descriptor = -1;
struct sigaction before_interrupt;
struct sigaction before_terminate;

// Makes descriptor() readable; async-signal-safe.
void wake() {
  const int error = errno;
  const uint64_t one = 1;
  [[maybe_unused]] const ssize_t written = ::write(wake_descriptor, &one, sizeof one);
  errno = error;
}

// Ending this process also ends a QEMU that is its child.
void handle(int) {
  if (__atomic_exchange_n(&stop_word, +stop_submitting, __ATOMIC_SEQ_CST) != 0) ::_exit(exit_interrupted);
  wake();
}

}  // namespace

Interrupt::Interrupt() {
  __atomic_store_n(&stop_word, 0u, __ATOMIC_RELEASE);
  wake_descriptor = ::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  struct sigaction action{};
  action.sa_handler = handle;
  ::sigemptyset(&action.sa_mask);
  ::sigaction(SIGINT, &action, &before_interrupt);
  ::sigaction(SIGTERM, &action, &before_terminate);
}

Interrupt::~Interrupt() {
  ::sigaction(SIGINT, &before_interrupt, nullptr);
  ::sigaction(SIGTERM, &before_terminate, nullptr);
  if (wake_descriptor >= 0) ::close(wake_descriptor);
  wake_descriptor = -1;
}

const uint32_t* Interrupt::word() { return &stop_word; }

int Interrupt::descriptor() { return wake_descriptor; }

void Interrupt::request() {
  __atomic_store_n(&stop_word, +stop_submitting, __ATOMIC_RELEASE);
  wake();
}

void Interrupt::abandon() {
  __atomic_store_n(&stop_word, +stop_waiting, __ATOMIC_RELEASE);
  wake();
}

bool Interrupt::requested() { return __atomic_load_n(&stop_word, __ATOMIC_ACQUIRE) != 0; }

}  // namespace tester
