// SPDX-License-Identifier: MIT
#include <machine/run/mutate.hpp>

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <vector>

#include <machine/core/address_space.hpp>

namespace machine {

namespace {

std::string place_of(const std::string& source) {
  const std::string library = "include/xio/";
  for (size_t at = 0; at < source.size();) {
    const size_t end = std::min(source.find(" < ", at), source.size());
    const std::string line = source.substr(at, end - at);
    at = end + 3;
    const size_t inside = line.find(library);
    // The kernel's own, in a function that it passes to the library.
    if (inside == std::string::npos) return "";
    const std::string place = line.substr(inside + library.size());
    if (place.compare(0, 11, "device/arch") != 0) return place;
  }
  return "";
}

struct Tried {
  const char* outcome;
  std::string noticed;
};

void print(const Tried& tried, const Mutation& mutation, const std::string& place) {
  std::printf("%s\t%s\t%s\t%s\t%s\t%s\n", tried.outcome, mutation.text.c_str(), mutation.change.c_str(),
              mutation.source.c_str(), place.c_str(), tried.noticed.c_str());
  std::fflush(stdout);
}

}  // namespace

void MutationChoice::read_skipped(const std::string& path) {
  std::ifstream file(path);
  if (!file) throw Fault("cannot read " + path);
  for (std::string line; std::getline(file, line);) skipped.insert(line);
}

void mutate(Gpu& gpu, const Case& one, MutationChoice& choice) {
  const uint64_t usual = gpu.limits.instructions;
  const std::vector<Mutation> all = gpu.mutations(one.kernel_name());
  std::vector<uint64_t> executed(all.size());
  std::vector<bool> mattered(all.size());
  uint64_t most = 0;              // instructions of a seed
  constexpr uint64_t looks = 12;  // seeds that determine which instructions are executed
  for (uint64_t seed = choice.first; !choice.list && seed <= choice.last && seed < choice.first + looks; ++seed) {
    const Outcome outcome = one.run(gpu, one, seed);
    if (!outcome.error.empty()) throw Fault(one.name + " is wrong without a mutation: " + outcome.error);
    most = std::max(most, outcome.counts.instructions);
    for (size_t i = 0; i < all.size(); ++i) {
      executed[i] += gpu.executed(all[i]);
      mattered[i] = mattered[i] || gpu.mattered(all[i]);
    }
  }
  const auto attempt = [&](const Mutation& mutation) -> Tried {
    gpu.apply(mutation);
    gpu.limits.instructions = 100'000 + 30 * most;
    std::string error;
    uint64_t seed = choice.first;
    for (; seed <= choice.last && error.empty(); ++seed) error = one.run(gpu, one, seed).error;
    gpu.restore();
    gpu.limits.instructions = usual;
    if (error.empty()) return {"survives", ""};
    return {"caught", one.name + ", seed " + std::to_string(seed - 1) + ": " + error.substr(0, error.find('\n'))};
  };
  for (size_t i = 0; i < all.size(); ++i) {
    const Mutation& mutation = all[i];
    const std::string place = place_of(mutation.source);
    const std::string key = mutation.text.substr(0, mutation.text.find(' ')) + "\t" + mutation.change + "\t" + place;
    Tried tried{"skipped", ""};
    if (choice.list)
      tried.outcome = "listed";
    else if (!mattered[i])
      tried.outcome = executed[i] == 0 ? "idle" : "empty";
    else if (!place.empty() && choice.skipped.count(key) == 0)
      tried = attempt(mutation);
    if (tried.outcome == std::string("caught")) choice.skipped.insert(key);
    print(tried, mutation, place);
  }
}

}  // namespace machine
