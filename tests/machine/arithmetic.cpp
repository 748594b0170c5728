// SPDX-License-Identifier: MIT
/// @file
/// @brief Runs each arithmetic instruction of AMD GPUs on random and corner operands, and compares the results with
/// AMD's documents: see arithmetic.py.

#include <sys/wait.h>

#include <cstdlib>
#include <fstream>
#include <map>
#include <memory>
#include <sstream>
#include <string>

#include <catch.hpp>
#include <machine/amdgcn/parsers.hpp>
#include <machine/amdgcn/processor.hpp>
#include <skip.hpp>

namespace {

using namespace machine::amdgcn;

struct Tally {
  uint32_t instructions = 0;
  uint32_t unknown = 0;
  uint64_t cases = 0;
  std::map<std::string, std::string> wrong;  ///< instruction, and its first case
};

bool is_nan(uint32_t bits) { return (bits & 0x7fffffffu) > 0x7f800000u; }

/// One instruction, and a wave that executes it.
class Replay {
 public:
  Replay(Processor& processor, const std::string& text) : processor_(processor) {
    instruction_.text = text;
    parse_instruction(instruction_, processor.model());
  }
  bool known() const { return instruction_.run != nullptr; }

  /// Returns whether the results are correct.
  bool run(const std::string& line) {
    wave_ = Wave();
    wave_.processor = &processor_;
    wave_.lanes = processor_.wave_size();
    wave_.v.resize(vector_registers);
    for (size_t i = 0; i < 64; ++i) wave_.v[i].fill(0xabcd0000u + static_cast<uint32_t>(i));
    std::istringstream words(line);
    words >> lane_;
    std::string word;
    while (words >> word && word != ">") set(word);
    instruction_.run(wave_, instruction_);
    bool right = true;
    while (words >> word) right = right && check(word);
    return right;
  }

 private:
  static std::pair<std::string, std::string> split(const std::string& word) {
    const size_t equals = word.find('=');
    return {word.substr(0, equals), word.substr(equals + 1)};
  }
  void set(const std::string& word) {
    const auto [name, text] = split(word);
    const uint64_t value = std::stoull(text, nullptr, 16);
    if (name == "vcc") {
      wave_.set_pair(vcc, value);
    } else if (name == "exec") {
      wave_.set_pair(exec, value);
    } else if (name == "scc") {
      wave_.scc = value != 0;
    } else if (name[0] == 'v') {
      wave_.v[std::stoul(name.substr(1))][lane_] = static_cast<uint32_t>(value);
    } else {
      wave_.s[std::stoul(name.substr(1))] = static_cast<uint32_t>(value);
    }
  }
  bool check(const std::string& word) const {
    const auto [name, text] = split(word);
    if (name == "vcc") return (wave_.pair(vcc) & uint64_t{1} << lane_) == std::stoull(text, nullptr, 16);
    if (name == "exec") return wave_.active() == std::stoull(text, nullptr, 16);
    if (name == "scc") return wave_.scc == (text != "0");
    const auto index = static_cast<size_t>(std::stoul(name.substr(1)));
    const uint32_t got = name[0] == 'v' ? wave_.v[index][lane_] : wave_.s[index];
    if (text == "zero") return (got & 0x7fffffffu) == 0;
    return text == "nan" ? is_nan(got) : got == std::stoul(text, nullptr, 16);
  }

  Processor& processor_;
  Instruction instruction_;
  Wave wave_;
  size_t lane_ = 0;
};

std::map<std::string, Tally> replay(const std::string& path) {
  std::map<std::string, Tally> all;
  std::ifstream file(path);
  std::unique_ptr<Processor> processor;
  std::unique_ptr<Replay> one;
  std::string target;
  std::string text;
  for (std::string line; std::getline(file, line);) {
    const std::string rest = line.substr(2);
    if (line[0] == 'T') {
      target = rest;
      processor = std::make_unique<Processor>(std::string(XIO_MACHINE_CODE) + "/litmus-amdgcn." + target + ".o");
    } else if (line[0] == 'I') {
      text = rest;
      one = std::make_unique<Replay>(*processor, text);
      ++(one->known() ? all[target].instructions : all[target].unknown);
    } else if (one->known()) {
      ++all[target].cases;
      if (!one->run(rest)) all[target].wrong.emplace(text, rest);
    }
  }
  return all;
}

}  // namespace

TEST_CASE("Arithmetic of AMD GPUs") {
  const std::string path = std::string(XIO_MACHINE_CODE) + "/arithmetic.txt";
  const std::string command = std::string(XIO_TINYGRAD_PYTHON) + " " + XIO_TESTS_DIR + "/machine/arithmetic.py " + path;
  const int status = std::system(command.c_str());
  if (WIFEXITED(status) && WEXITSTATUS(status) == 77) return xio_tests::skip("see above");
  REQUIRE(status == 0);
  const auto all = replay(path);
  CHECK(all.size() == 4);
  for (const auto& [target, tally] : all) {
    std::printf("%s: %u instructions, %llu cases; %u instructions that are not known\n", target.c_str(),
                tally.instructions, static_cast<unsigned long long>(tally.cases), tally.unknown);
    CHECK(tally.instructions >= 150);
    for (const auto& [instruction, wrong] : tally.wrong) {
      INFO(target << " " << instruction << ": " << wrong);
      CHECK(false);
    }
  }
}
