// SPDX-License-Identifier: MIT
#include <machine/timed/rounds.hpp>

#include <sys/mman.h>

#include <cstdlib>

namespace machine::timed {

namespace {

constexpr size_t arena_bytes = size_t{512} << 20;

uint32_t whole(const std::string& key, const std::string& value) {
  char* end = nullptr;
  const unsigned long number = std::strtoul(value.c_str(), &end, 10);
  if (value.empty() || *end != 0 || number == 0 || number > 1 << 20)
    throw Fault(key + "=" + value + ": no number from 1");
  return static_cast<uint32_t>(number);
}
std::string one_of(const std::string& key, const std::string& value, const char* a, const char* b) {
  if (value != a && value != b) throw Fault(key + "=" + value + ": " + a + " or " + b);
  return value;
}
bool begins(const std::string& text, const char* with) { return text.rfind(with, 0) == 0; }

}  // namespace

void Setup::set(const std::string& key, const std::string& value) {
  if (key == "waves")
    waves = whole(key, value);
  else if (key == "rounds")
    rounds = whole(key, value);
  else if (key == "cq_laps")
    cq_laps = whole(key, value);
  else if (key == "queue_waves")
    queue_waves = whole(key, value);
  else if (key == "depth")
    depth = whole(key, value);
  else if (key == "rows")
    rows = whole(key, value);
  else if (key == "service")
    service = whole(key, value);
  else if (key == "rings")
    rings = one_of(key, value, "gpu", "host");
  else if (key == "state")
    state = one_of(key, value, "gpu", "host");
  else if (key == "device")
    device = one_of(key, value, "gpu", "cpu");
  else
    throw Fault("there is no setting " + key);
}

std::string Setup::text() const {
  const Setup usual;
  std::string out = kernel + " waves=" + std::to_string(waves);
  const auto add = [&](const char* key, const auto& value, const auto& usually) {
    if (value == usually) return;
    out += std::string(" ") + key + "=";
    if constexpr (std::is_same_v<std::decay_t<decltype(value)>, std::string>)
      out += value;
    else
      out += std::to_string(static_cast<uint64_t>(value));
  };
  add("rounds", rounds, usual.rounds);
  add("cq_laps", cq_laps, usual.cq_laps);
  add("queue_waves", queue_waves, usual.queue_waves);
  add("depth", depth, usual.depth);
  add("rows", rows, usual.rows);
  add("rings", rings, usual.rings);
  add("state", state, usual.state);
  add("device", device, usual.device);
  add("service", service, usual.service);
  return out;
}

Arena::Arena(MemoryKind kind)
    : kind_(kind),
      begin_(static_cast<char*>(
          mmap(nullptr, arena_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0))) {
  if (begin_ == MAP_FAILED) throw Fault("no memory for a launch");
}

Arena::~Arena() { munmap(begin_, arena_bytes); }

void* Arena::take(size_t bytes) {
  void* const out = begin_ + used_;
  used_ += (bytes + 4095) / 4096 * 4096;
  if (used_ > arena_bytes) throw Fault("a launch of that size is not possible");
  return out;
}

void Arena::add_to(AddressSpace& space) const {
  space.add(begin_, arena_bytes, kind_, kind_ == MemoryKind::local ? "this GPU's" : "host");
}

Prediction launch(ptx::TimedMachine& machine, const Setup& setup, const Grounds& grounds, const void* arguments,
                  size_t argument_bytes) {
  Launch launch;
  launch.block.x = 32;
  launch.arguments = arguments;
  launch.argument_bytes = argument_bytes;
  machine.memory.clear();
  grounds.far.add_to(machine.memory);
  grounds.near.add_to(machine.memory);
  machine.start(0);
  for (const KernelInfo& one : machine.kernels()) {
    if (one.name != setup.kernel + "_prepare") continue;
    machine.device_blocks = 0;
    machine.run(one.name, launch);
  }
  launch.grid.x = setup.waves + grounds.devices;
  machine.device_blocks = grounds.devices;
  machine.devices_until = grounds.programs;
  machine.run(setup.kernel, launch);
  Prediction out;
  out.operations = uint64_t{setup.waves} * 32 * setup.rounds;
  if (*grounds.done != out.operations)
    throw Fault(setup.text() + ": " + std::to_string(*grounds.done) + " of " + std::to_string(out.operations) +
                " operations ended well");
  out.ns = machine.ended_at() / setup.rounds;
  out.million_per_second = static_cast<double>(out.operations) / machine.ended_at() * 1e3;
  return out;
}

Prediction predict(ptx::TimedMachine& machine, const Setup& setup) {
  if (begins(setup.kernel, "put_")) return predict_puts(machine, setup);
  if (begins(setup.kernel, "read_")) return predict_reads(machine, setup);
  throw Fault("kernels of the timed mode are named put_... or read_..., not " + setup.kernel);
}

}  // namespace machine::timed
