// SPDX-License-Identifier: MIT
#include <machine/run/mutate.hpp>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <map>
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

/// The instructions of a kernel for which one line of the library asks, and the change made to them. A line that is
/// inlined several times is weakened everywhere: one copy may hide that another lacks something.
struct Place {
  std::string key;
  std::string place;
  std::vector<size_t> mutations;
};

/// A line of source, "path:line"; empty if it cannot be read.
std::string line_at(const std::string& where) {
  static std::map<std::string, std::vector<std::string>> files;
  const size_t colon = where.rfind(':');
  std::vector<std::string>& lines = files[where.substr(0, colon)];
  if (lines.empty()) {
    std::ifstream file(where.substr(0, colon));
    for (std::string line; std::getline(file, line);) lines.push_back(line);
  }
  const auto number = static_cast<size_t>(std::atoi(where.c_str() + colon + 1));
  return number != 0 && number <= lines.size() ? lines[number - 1] : "";
}

/// Who asks for the instruction: "compiler" for a wait that no line of device/arch requests (by inline assembly, a
/// fence, or the builtin for waits), else "library". The compiler waits where a register is read or a function begins
/// or ends; reading a register too early is detected when it happens.
const char* origin_of(const Mutation& mutation) {
  if (mutation.change.compare(0, 7, "no wait") != 0) return "library";
  const std::string innermost = mutation.source.substr(0, mutation.source.find(" < "));
  if (innermost.find("/device/arch/") == std::string::npos) return "compiler";
  const std::string line = line_at(innermost);
  for (const char* request : {"asm volatile", "__builtin_amdgcn_fence", "__builtin_amdgcn_s_waitcnt"})
    if (line.find(request) != std::string::npos) return "library";
  return "compiler";
}

void print(const Tried& tried, const Mutation& mutation, const std::string& place) {
  std::printf("%s\t%s\t%s\t%s\t%s\t%s\t%s\n", tried.outcome, mutation.text.c_str(), mutation.change.c_str(),
              mutation.source.c_str(), place.c_str(), origin_of(mutation), tried.noticed.c_str());
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
  const auto attempt = [&](const Place& place, uint64_t last) -> Tried {
    for (const size_t i : place.mutations) gpu.apply(all[i]);
    gpu.limits.instructions = 100'000 + 30 * most;
    std::string error;
    uint64_t seed = choice.first;
    for (; seed <= last && error.empty(); ++seed) error = one.run(gpu, one, seed).error;
    gpu.restore();
    gpu.limits.instructions = usual;
    if (error.empty()) return {"survives", ""};
    return {"caught", one.name + ", seed " + std::to_string(seed - 1) + ": " + error.substr(0, error.find('\n'))};
  };
  std::vector<Place> places;
  std::vector<std::pair<size_t, std::string>> empty;  // mutations that changed nothing, and their keys
  for (size_t i = 0; i < all.size(); ++i) {
    const std::string place = place_of(all[i].source);
    const std::string key =
        all[i].text.substr(0, all[i].text.find(' ')) + "\t" + all[i].change + "\t" + place + "\t" + origin_of(all[i]);
    if (choice.list) {
      print({"listed", ""}, all[i], place);
    } else if (executed[i] == 0) {
      print({"idle", ""}, all[i], place);
    } else if (place.empty() || choice.skipped.count(key) != 0) {
      print({"skipped", ""}, all[i], place);
    } else if (!mattered[i]) {
      empty.emplace_back(i, key);
    } else {
      auto found = std::find_if(places.begin(), places.end(), [&](const Place& known) { return known.key == key; });
      if (found == places.end()) found = places.insert(found, {key, place, {}});
      found->mutations.push_back(i);
    }
  }
  // The second of two waits in a row has nothing left to wait for, unless the first is weakened.
  for (const auto& left : empty) {
    auto found =
        std::find_if(places.begin(), places.end(), [&](const Place& known) { return known.key == left.second; });
    if (found == places.end()) {
      print({"empty", ""}, all[left.first], place_of(all[left.first].source));
    } else {
      found->mutations.push_back(left.first);
    }
  }
  for (const Place& place : places) {
    const bool compilers = origin_of(all[place.mutations.front()]) == std::string("compiler");
    constexpr uint64_t few = 2;
    const Tried tried = attempt(place, compilers ? std::min(choice.last, choice.first + few - 1) : choice.last);
    if (tried.outcome == std::string("caught")) choice.skipped.insert(place.key);
    for (const size_t i : place.mutations) print(tried, all[i], place.place);
  }
}

}  // namespace machine
