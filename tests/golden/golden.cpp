// SPDX-License-Identifier: MIT

#include "golden.hpp"

#include <cstdio>
#include <map>

#include "nvme.hpp"
#include "skips.hpp"

namespace golden {

namespace {

/// Which vendors' files can be replayed: each vendor's source registers itself.
std::map<std::string, Handler>& handlers() {
  static std::map<std::string, Handler> all{{"nvme", nvme::replay_file}};
  return all;
}

}  // namespace

Registered::Registered(const char* vendor, Handler handler) { handlers()[vendor] = handler; }

Handler find_handler(const std::string& vendor) {
  const auto found = handlers().find(vendor);
  return found != handlers().end() ? found->second : nullptr;
}

std::string known_vendors() {
  std::string names;
  for (const auto& [vendor, handler] : handlers()) names += (names.empty() ? "" : ", ") + vendor;
  return names;
}

bool is_number(const Json& value) {
  if (value.is_number_integer() || value.is_boolean()) return true;
  if (!value.is_string()) return false;
  const auto& text = value.get_ref<const std::string&>();
  if (text.empty()) return false;
  const bool hexadecimal = text.size() > 2 && text[0] == '0' && (text[1] == 'x' || text[1] == 'X');
  const char* const digits = hexadecimal ? "0123456789abcdefABCDEF" : "0123456789";
  return text.find_first_not_of(digits, hexadecimal ? 2 : 0) == std::string::npos;
}

uint64_t number(const Json& value) {
  if (!is_number(value)) throw Mismatch("not a number: " + value.dump());
  if (value.is_boolean()) return value.get<bool>() ? 1 : 0;
  if (value.is_string()) {
    try {
      return std::stoull(value.get<std::string>(), nullptr, 0);
    } catch (const std::out_of_range&) {
      throw Mismatch("a number that is too large: " + value.dump());
    }
  }
  return value.is_number_unsigned() ? value.get<uint64_t>() : static_cast<uint64_t>(value.get<int64_t>());
}

uint64_t number_or(const Json& object, const char* key, uint64_t fallback) {
  const auto found = object.find(key);
  return found == object.end() || found->is_null() ? fallback : number(*found);
}

const Json& member(const Json& object, const char* key) {
  const auto found = object.find(key);
  if (found == object.end()) throw Mismatch(std::string("the recorded case has no \"") + key + "\"");
  return *found;
}

uint64_t number_at(const Json& object, const char* key) { return number(member(object, key)); }

const Json& list_or_empty(const Json& object, const char* key) {
  static const Json empty = Json::array();
  const auto found = object.find(key);
  return found == object.end() || found->is_null() ? empty : *found;
}

Bytes from_hex(const std::string& digits) {
  if (digits.size() % 2 != 0 || digits.find_first_not_of("0123456789abcdefABCDEF") != std::string::npos) {
    throw Mismatch("not hexadecimal bytes: " + digits);
  }
  Bytes bytes;
  for (size_t i = 0; i < digits.size(); i += 2) {
    bytes.push_back(static_cast<uint8_t>(std::stoul(digits.substr(i, 2), nullptr, 16)));
  }
  return bytes;
}

std::string to_hex(const uint8_t* data, size_t bytes) {
  static const char digits[] = "0123456789abcdef";
  std::string text;
  for (size_t i = 0; i < bytes; ++i) {
    text += digits[data[i] >> 4];
    text += digits[data[i] & 15];
  }
  return text;
}

std::string hex_number(uint64_t value) {
  char text[24];
  std::snprintf(text, sizeof text, "0x%llx", static_cast<unsigned long long>(value));
  return text;
}

void expect_number(const std::string& what, uint64_t expected, uint64_t actual) {
  if (expected == actual) return;
  throw Mismatch(what + "\n      expected " + hex_number(expected) + "\n      actual   " + hex_number(actual));
}

void expect_bytes(const std::string& what, const Bytes& expected, const Bytes& actual, const Bytes& mask) {
  bool same = expected.size() == actual.size();
  for (size_t i = 0; same && i < expected.size(); ++i) {
    if (i < mask.size() && mask[i] == 0) continue;
    same = expected[i] == actual[i];
  }
  if (same) return;
  std::string text = what + "\n      expected " + to_hex(expected) + "\n      actual   " + to_hex(actual);
  if (!mask.empty()) text += "\n      mask     " + to_hex(mask);
  throw Mismatch(text);
}

void Report::run(const std::string& section, const Json& recorded, const std::function<void(const Json&)>& replay) {
  const auto id = recorded.is_object() ? recorded.find("id") : recorded.end();
  if (!recorded.is_object() || id == recorded.end() || !id->is_string()) {
    throw UnknownForm("a case of \"" + section + "\" has no id");
  }
  const std::string name = section + "/" + id->get<std::string>();
  if (const char* const reason = reason_for_id(vendor_, id->get<std::string>())) return skip(name, "id", reason);
  try {
    replay(recorded);
    ++passed_;
  } catch (const Skipped& skipped) {
    const char* const reason = reason_for_rule(vendor_, skipped.rule);
    if (!reason) throw std::logic_error("the skip table has no rule " + skipped.rule);
    skip(name, skipped.rule, reason);
  } catch (const Mismatch& mismatch) {
    ++failed_;
    std::printf("  FAILED %s: %s\n", name.c_str(), mismatch.what());
  } catch (const Json::exception& malformed) {
    ++failed_;
    std::printf("  FAILED %s: the recorded case is malformed: %s\n", name.c_str(), malformed.what());
  }
}

void Report::run_queues(const std::function<void()>& replay) {
  try {
    replay();
    ++through_queues_;
  } catch (const EncodersAlone& alone) {
    if (!reason_for_encoders(alone.rule)) throw std::logic_error("the skip table has no rule " + alone.rule);
    ++encoders_alone_[alone.rule];
  }
}

void Report::skip(const std::string& name, const std::string& rule, const std::string& reason) {
  ++skipped_;
  std::printf("  skipped %s [%s]: %s\n", name.c_str(), rule.c_str(), reason.c_str());
}

void Report::finish() const {
  std::printf("%s: %zu passed, %zu failed, %zu skipped\n", file_.c_str(), passed_, failed_, skipped_);
  if (through_queues_ == 0 && encoders_alone_.empty()) return;
  size_t alone = 0;
  std::string rules;
  for (const auto& [rule, cases] : encoders_alone_) {
    alone += cases;
    rules += (rules.empty() ? ": " : ", ") + std::to_string(cases) + " " + rule;
  }
  std::printf("  %zu of them through the library's own queues, with the order of events; %zu by encoders alone%s\n",
              through_queues_, alone, rules.c_str());
}

}  // namespace golden
