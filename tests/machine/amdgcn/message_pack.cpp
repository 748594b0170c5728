// SPDX-License-Identifier: MIT
#include <machine/amdgcn/message_pack.hpp>

#include <machine/core/address_space.hpp>

namespace machine::amdgcn {
namespace {

class Reader {
 public:
  explicit Reader(const std::vector<uint8_t>& bytes) : bytes_(bytes) {}

  Value read() {
    if (depth_ == most_depth) throw Fault("metadata is nested too deeply");
    ++depth_;
    Value value = read_value();
    --depth_;
    return value;
  }

 private:
  static constexpr uint32_t most_depth = 32;

  Value read_value() {
    const uint8_t tag = byte();
    if (tag <= 0x7f) return integer(tag);
    if (tag >= 0xe0) return integer(static_cast<int8_t>(tag));
    if (tag <= 0x8f) return map(tag & 15);
    if (tag <= 0x9f) return list(tag & 15);
    if (tag <= 0xbf) return text(tag & 31);
    switch (tag) {
      case 0xc0: return {};
      case 0xc2:
      case 0xc3: {
        Value value = integer(tag & 1);
        value.kind = Value::Kind::boolean;
        return value;
      }
      case 0xcc: return integer(static_cast<int64_t>(number(1)));
      case 0xcd: return integer(static_cast<int64_t>(number(2)));
      case 0xce: return integer(static_cast<int64_t>(number(4)));
      case 0xcf: return integer(static_cast<int64_t>(number(8)));
      case 0xd0: return integer(static_cast<int8_t>(number(1)));
      case 0xd1: return integer(static_cast<int16_t>(number(2)));
      case 0xd2: return integer(static_cast<int32_t>(number(4)));
      case 0xd3: return integer(static_cast<int64_t>(number(8)));
      case 0xd9: return text(number(1));
      case 0xda: return text(number(2));
      case 0xdb: return text(number(4));
      case 0xdc: return list(number(2));
      case 0xdd: return list(number(4));
      case 0xde: return map(number(2));
      case 0xdf: return map(number(4));
      default: throw Fault("metadata has a value of type " + std::to_string(tag));
    }
  }
  uint8_t byte() {
    if (at_ >= bytes_.size()) throw Fault("metadata is cut short");
    return bytes_[at_++];
  }
  uint64_t number(uint32_t count) {
    uint64_t value = 0;
    for (; count > 0; --count) value = value << 8 | byte();
    return value;
  }
  static Value integer(int64_t number) {
    Value value;
    value.kind = Value::Kind::integer;
    value.integer = number;
    return value;
  }
  Value text(uint64_t length) {
    Value value;
    value.kind = Value::Kind::text;
    for (; length > 0; --length) value.text += static_cast<char>(byte());
    return value;
  }
  Value list(uint64_t length) {
    Value value;
    value.kind = Value::Kind::list;
    for (; length > 0; --length) value.list.push_back(read());
    return value;
  }
  Value map(uint64_t length) {
    Value value;
    value.kind = Value::Kind::map;
    for (; length > 0; --length) {
      std::string key = read().text;
      value.map.emplace_back(std::move(key), read());
    }
    return value;
  }

  const std::vector<uint8_t>& bytes_;
  size_t at_ = 0;
  uint32_t depth_ = 0;
};

}  // namespace

const Value& Value::operator[](const std::string& key) const {
  static const Value none;
  for (const auto& entry : map)
    if (entry.first == key) return entry.second;
  return none;
}

Value read_message(const std::vector<uint8_t>& bytes) { return Reader(bytes).read(); }

}  // namespace machine::amdgcn
