// SPDX-License-Identifier: MIT

/// @file
/// @brief Golden files with anything in them: xio-golden replays what makes sense and says of the rest what is wrong.
/// An input is JSON; it is changed as such.

#include <iterator>
#include <random>

#include <unistd.h>

#include "fuzz/fuzz.hpp"
#include "golden/golden.hpp"

extern "C" size_t LLVMFuzzerMutate(uint8_t* data, size_t size, size_t max_size);

namespace {

using golden::Json;
using Random = std::minstd_rand;

/// All values of a document, itself included.
void collect(Json& value, std::vector<Json*>& found) {
  found.push_back(&value);
  if (value.is_structured())
    for (Json& one : value) collect(one, found);
}

/// Something that a value may become.
Json replacement(const Json& value, Random& random) {
  const Json numbers[] = {0,
                          1,
                          -1,
                          2,
                          64,
                          255,
                          256,
                          4095,
                          65535,
                          65536,
                          0x7fffffff,
                          0x80000000u,
                          0xffffffffu,
                          0x100000000u,
                          0x7fffffffffffffff,
                          0xffffffffffffffff};
  switch (random() % 8) {
    case 0: return nullptr;
    case 1: return random() % 2 == 0;
    case 2: return Json::array();
    case 3: return Json::object();
    case 4: {
      // Numbers are written as strings in places.
      const Json number = numbers[random() % std::size(numbers)];
      return number.is_number_unsigned() ? Json(golden::hex_number(number.get<uint64_t>())) : Json("ff");
    }
    case 5:
      if (value.is_number_integer()) return value.get<int64_t>() ^ (int64_t{1} << random() % 62);
      if (value.is_string()) {
        std::string text = value.get<std::string>();
        if (!text.empty()) text[random() % text.size()] = "0123456789abcdef"[random() % 16];
        return text;
      }
      return 0.5;
    case 6: return std::string(random() % 300, "0fxA"[random() % 4]);
    default: return numbers[random() % std::size(numbers)];
  }
}

void change(Json& document, Random& random) {
  std::vector<Json*> values;
  collect(document, values);
  Json& chosen = *values[random() % values.size()];
  switch (random() % 4) {
    case 0: {
      const Json other = *values[random() % values.size()];
      chosen = other;
      break;
    }
    case 1:
      if (chosen.is_array() && !chosen.empty()) {
        const Json again = chosen[random() % chosen.size()];
        chosen.push_back(again);
      } else if (chosen.is_object() && !chosen.empty()) {
        auto member = chosen.begin();
        std::advance(member, static_cast<std::ptrdiff_t>(random() % chosen.size()));
        chosen.erase(member);
      }
      break;
    default: chosen = replacement(chosen, random); break;
  }
}

}  // namespace

extern "C" size_t LLVMFuzzerCustomMutator(uint8_t* data, size_t size, size_t max_size, unsigned int seed) {
  Random random(seed);
  Json document = Json::parse(data, data + size, nullptr, false);
  // The parser itself is not ours.
  if (document.is_discarded() || random() % 64 == 0) return LLVMFuzzerMutate(data, size, max_size);
  for (uint32_t left = 1 + random() % 3; left != 0; --left) change(document, random);
  const std::string text = document.dump(-1, ' ', false, Json::error_handler_t::replace);
  if (text.size() > max_size) return size;
  std::memcpy(data, text.data(), text.size());
  return text.size();
}

/// What is printed of cases that fail would be most of the output.
extern "C" int LLVMFuzzerInitialize(int*, char***) { return std::freopen("/dev/null", "w", stdout) == nullptr ? 1 : 0; }

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  try {
    const Json file = Json::parse(data, data + size);
    if (!file.is_object() || !file.contains("vendor") || !file["vendor"].is_string()) return 0;
    const auto vendor = file["vendor"].get<std::string>();
    const golden::Handler handler = golden::find_handler(vendor);
    if (handler == nullptr) return 0;
    golden::Report report("input", vendor);
    handler(file, report);
    report.finish();
    fuzz::expect(report.passed() + report.failed() + report.skipped() != 0, "an empty file is of unknown form");
  } catch (const std::exception& error) {
    // The program prints it, and ends with the status for files that it does not understand.
    fuzz::expect(error.what() != nullptr, "an error says why");
  }
  return 0;
}
