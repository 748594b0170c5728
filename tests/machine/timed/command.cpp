// SPDX-License-Identifier: MIT
#include <machine/timed/command.hpp>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>

namespace machine::timed {

namespace {

/// Per cent that a prediction may differ from its budget: predictions rank, and a change that is worth it shows.
constexpr double tolerance = 5;

double share(const Profile& profile, Reason reason) {
  double out = 0;
  for (const auto& [key, spent] : profile.spent) out += key.second == reason ? spent.ns : 0;
  return out;
}

void print_title() {
  std::printf("predicted, by latencies that a file names; good to rank changes, not to promise times\n");
  std::printf("%-64s %10s %9s\n", "launch", "ns a round", "M/s");
}

void print_left_out(size_t count) {
  if (count != 0) std::printf("left out: %zu launches of programs that were not given\n", count);
}

void refuse_elf(const std::string& path) {
  char begin[4] = {};
  std::ifstream(path, std::ios::binary).read(begin, sizeof begin);
  if (std::memcmp(begin, "\177ELF", sizeof begin) == 0) throw Fault(path + ": the timed mode executes PTX alone");
}

void print_row(const Setup& setup, const Prediction& prediction) {
  std::printf("%-64s %10.0f %9.2f", setup.text().c_str(), prediction.ns, prediction.million_per_second);
  if (prediction.device_busy > 0) std::printf("  drive busy %.2f", prediction.device_busy);
}

void print_profile(const ptx::TimedMachine& machine, uint32_t rounds, uint32_t lines) {
  const Profile& p = machine.profile();
  const auto each = [&](auto value) { return static_cast<double>(value) / rounds; };
  std::printf("  the leading lane, ns a round, predicted:");
  for (size_t k = 0; k < reasons; ++k)
    std::printf(" %s %.0f%s", reason_names[k], each(share(p, static_cast<Reason>(k))), k + 1 < reasons ? "," : "\n");
  std::printf(
      "  a round: %.1f instructions, %.2f coherent loads (%.2f acquire, %.2f from the host), %.2f from L1, %.2f "
      "atomics with "
      "result, %.2f without, fences %.2f sys %.2f gpu %.2f cta, releases %.2f sys %.2f gpu %.2f cta, %.2f stores\n",
      each(p.instructions), each(p.loads), each(p.acquiring), each(p.loads_far), each(p.loads_l1), each(p.atomics),
      each(p.reductions), each(p.fences[2]), each(p.fences[1]), each(p.fences[0]), each(p.releases[2]),
      each(p.releases[1]), each(p.releases[0]), each(p.stores));
  std::vector<std::pair<double, std::string>> places;
  for (const auto& [key, spent] : p.spent) {
    char text[64];
    std::snprintf(text, sizeof text, "%6.2f times %-11s ", each(spent.times),
                  reason_names[static_cast<int>(key.second)]);
    places.emplace_back(spent.ns, text + machine.text_of(key.first));
  }
  std::sort(places.rbegin(), places.rend());
  for (size_t k = 0; k < std::min<size_t>(lines, places.size()); ++k)
    std::printf("  %8.1f ns %s\n", each(places[k].first), places[k].second.c_str());
}

}  // namespace

Command::Command(CLI::App& app) {
  const std::string group = "Timed";
  app.add_flag("--timed", timed_, "predict what rounds take; with no kernel: hold all to their budgets")->group(group);
  app.add_option("--gpu", gpu_, "whose latencies: a name, or a file")->group(group)->capture_default_str();
  app.add_option("--kernel", kernel_, "this one only")->group(group);
  app.add_option("--waves", waves_, "of the kernel")->group(group)->delimiter(',');
  app.add_option("--with", with_, "settings of the launch, such as rings=host")->group(group)->delimiter(',');
  app.add_option("--set", set_, "latencies instead of the file's, name=value")->group(group);
  app.add_option("--lines", lines_, "most lines that say where the leading lane waits")->group(group);
  app.add_option("--rows", budgets_, "file of launches and budgets instead of the usual one")->group(group);
  app.add_flag("--update", update_, "write what is predicted as the new budgets")->group(group);
  app.add_option("--measured", measured_, "compare with what a GPU measured, from this file")->group(group);
}

ptx::TimedMachine* Command::machine_of(const std::string& program) const {
  for (const Program& one : programs_) {
    if (one.name == program) return one.machine.get();
  }
  return nullptr;
}

Command::Predicted Command::predict_row(const Row& row) const {
  ptx::TimedMachine& machine = *machine_of(row.program);
  Predicted out{&row, predict(machine, row.setup)};
  print_row(row.setup, out.prediction);
  return out;
}

int Command::one_kernel() const {
  print_title();
  uint32_t ran = 0;
  for (const Program& program : programs_) {
    const std::vector<KernelInfo> kernels = program.machine->kernels();
    if (std::none_of(kernels.begin(), kernels.end(), [&](const KernelInfo& one) { return one.name == kernel_; }))
      continue;
    for (const uint32_t waves : waves_) {
      Row row;
      row.program = program.name;
      row.setup.kernel = kernel_;
      row.setup.waves = waves;
      for (const std::string& one : with_) row.setup.set(one.substr(0, one.find('=')), one.substr(one.find('=') + 1));
      predict_row(row);
      std::printf("\n");
      if (lines_ != 0) print_profile(*program.machine, row.setup.rounds, lines_);
      std::fflush(stdout);
      ++ran;
    }
  }
  if (ran == 0) throw Fault("no program has a kernel " + kernel_);
  return 0;
}

int Command::budgets() const {
  Rows rows(budgets_);
  uint32_t ran = 0;
  uint32_t off = 0;
  print_title();
  for (const Row& row : rows.all()) {
    const ptx::TimedMachine* const machine = machine_of(row.program);
    if (machine == nullptr) continue;
    ++ran;
    const Prediction predicted = predict_row(row).prediction;
    const double percent = row.ns > 0 ? 100 * (predicted.ns / row.ns - 1) : 0;
    if (row.ns > 0) std::printf("  %+.1f %% of its budget %.0f", percent, row.ns);
    const bool wrong = row.ns <= 0 || std::abs(percent) > tolerance;
    off += wrong;
    if (update_) rows.set_ns(row, predicted.ns);
    std::printf("%s\n", !wrong || update_ ? "" : row.ns > 0 ? "  OUTSIDE" : "  NO BUDGET");
    if (lines_ != 0) print_profile(*machine, row.setup.rounds, lines_);
    std::fflush(stdout);
  }
  if (ran == 0) throw Fault(budgets_ + " has no launch of these programs");
  print_left_out(rows.all().size() - ran);
  if (update_) return rows.write(), 0;
  if (off != 0)
    std::printf(
        "%u of %u predictions differ from their budgets by more than %.0f %%, faster or slower. If the change is meant "
        "to do that: ninja -C build machine-timed-budgets writes the new ones to %s\n",
        off, ran, tolerance, budgets_.c_str());
  return off == 0 ? 0 : 1;
}

int Command::measured() const {
  const Rows rows(measured_);
  std::vector<Predicted> ran;
  uint32_t off = 0;
  print_title();
  for (const Row& row : rows.all()) {
    if (machine_of(row.program) == nullptr) continue;
    ran.push_back(predict_row(row));
    const double percent = 100 * (row.measured / ran.back().prediction.million_per_second - 1);
    const bool wrong = row.within > 0 && std::abs(percent) > row.within;
    std::printf("  measured %.2f M/s: %+.0f %% in time%s\n", row.measured, percent, wrong ? "  OUTSIDE" : "");
    off += wrong;
    std::fflush(stdout);
  }
  if (ran.empty()) throw Fault(measured_ + " has no launch of these programs");
  print_left_out(rows.all().size() - ran.size());
  // Who was measured to be faster with as many waves is predicted to be.
  for (const Predicted& a : ran) {
    for (const Predicted& b : ran) {
      if (a.row->setup.waves != b.row->setup.waves || a.row->measured <= b.row->measured) continue;
      if (a.row->within <= 0 || b.row->within <= 0 || a.prediction.million_per_second > b.prediction.million_per_second)
        continue;
      std::printf("%s was measured to be faster than %s, and is predicted to be slower\n", a.row->setup.text().c_str(),
                  b.row->setup.text().c_str());
      ++off;
    }
  }
  return off == 0 ? 0 : 1;
}

int Command::run(const std::vector<std::string>& paths) {
  const std::string folder = XIO_MACHINE_TIMED_DIR;
  const bool named = gpu_.find('/') == std::string::npos;
  Latencies latencies = Latencies::read(named ? folder + "/" + gpu_ + ".latencies" : gpu_);
  for (const std::string& one : set_) latencies.set(one);
  if (budgets_.empty()) budgets_ = folder + "/budgets.txt";
  for (const std::string& path : paths) {
    refuse_elf(path);
    const std::string name = std::filesystem::path(path).filename().string();
    auto machine = std::make_unique<ptx::TimedMachine>(ptx::parse_file(path), latencies);
    machine->limits.instructions = 4'000'000'000;
    programs_.push_back({name.substr(0, name.find('.')), std::move(machine)});
  }
  if (!kernel_.empty()) return one_kernel();
  return measured_.empty() ? budgets() : measured();
}

}  // namespace machine::timed
