// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief QEMU Machine Protocol (QMP): one JSON object per line, for queries and for fault injection in storage.

#include <chrono>
#include <mutex>
#include <string>
#include <utility>

#include <xio/config.hpp>
#include <xio/host/error.hpp>
#include <xio/host/linux/file_descriptor.hpp>
#include <xio/host/nvme/qemu_channel.hpp>
#include <xio/host/wait.hpp>

XIO_NAMESPACE_BEGIN

namespace host {

namespace detail::json {

/// `text` as a JSON string, quotes included.
inline std::string quote(const std::string& text) {
  std::string quoted = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') quoted += '\\';
    if (static_cast<unsigned char>(c) >= ' ') {
      quoted += c;
    } else {
      const char digits[] = "0123456789abcdef";
      quoted += "\\u00";
      quoted += digits[(c >> 4) & 15];
      quoted += digits[c & 15];
    }
  }
  return quoted + "\"";
}

/// Returns the end of the JSON value that starts at `at`: the position behind it.
inline size_t skip_value(const std::string& text, size_t at) {
  int depth = 0;
  bool in_string = false;
  for (; at < text.size(); ++at) {
    const char c = text[at];
    if (in_string) {
      if (c == '\\') ++at;
      if (c == '"') in_string = false;
      if (!in_string && depth == 0) return at + 1;
    } else if (c == '"') {
      in_string = true;
    } else if (c == '{' || c == '[') {
      ++depth;
    } else if (c == '}' || c == ']') {
      if (depth == 0) return at;
      if (--depth == 0) return at + 1;
    } else if (c == ',' && depth == 0) {
      return at;
    }
  }
  return at;
}

/// Returns the text of the value of `key` in `object`, nested objects not searched; empty if absent.
inline std::string member(const std::string& object, const std::string& key) {
  const char* spaces = " \t\r\n";
  size_t at = object.find('{');
  while (at != std::string::npos && at + 1 < object.size()) {
    const size_t name = object.find('"', at + 1);
    if (name == std::string::npos) break;
    const size_t name_end = skip_value(object, name);
    const size_t colon = object.find(':', name_end);
    const size_t begin = colon == std::string::npos ? colon : object.find_first_not_of(spaces, colon + 1);
    if (begin == std::string::npos) break;
    const size_t end = skip_value(object, begin);
    if (object.compare(name, name_end - name, "\"" + key + "\"") == 0) {
      const std::string value = object.substr(begin, end - begin);
      return value.substr(0, value.find_last_not_of(spaces) + 1);
    }
    at = object.find(',', end);
  }
  return {};
}

/// Decodes a JSON string; supports only the escapes that QEMU writes. Other values are returned unchanged.
inline std::string unquote(const std::string& value) {
  if (value.size() < 2 || value.front() != '"') return value;
  std::string text;
  for (size_t i = 1; i + 1 < value.size(); ++i) {
    char c = value[i];
    if (c == '\\') {
      c = value[++i];
      if (c == 'n') c = '\n';
      if (c == 'r') c = '\r';
      if (c == 't') c = '\t';
    }
    text += c;
  }
  return text;
}

}  // namespace detail::json

/// The monitor of one QEMU. Usable from several threads.
class QemuMonitor {
 public:
  /// Waits for QEMU's greeting.
  /// @param limit  for the whole greeting, and later for the reply to each command
  QemuMonitor(FileDescriptor fd, std::chrono::milliseconds limit) : socket_(std::move(fd), limit) {
    const Timeout until(limit);
    const std::string version =
        detail::json::member(detail::json::member(detail::json::member(line(), "QMP"), "version"), "qemu");
    version_ = detail::json::member(version, "major") + "." + detail::json::member(version, "minor") + "." +
               detail::json::member(version, "micro");
    socket_.set_limit(until.left());
    execute("qmp_capabilities");
    socket_.set_limit(limit);
  }

  /// Sets the time limit for the reply to a command from now on.
  void set_limit(std::chrono::milliseconds limit) {
    const std::lock_guard<std::mutex> lock(mutex_);
    socket_.set_limit(limit);
  }

  /// QEMU's version, for instance "7.2.22".
  const std::string& version() const { return version_; }

  /// Runs a command and returns its result as JSON text. Throws Error with QEMU's own message if it rejects the
  /// command.
  /// @param arguments  a JSON object; may be empty
  std::string execute(const std::string& command, const std::string& arguments = {}) {
    const std::lock_guard<std::mutex> lock(mutex_);
    const std::string id = std::to_string(++commands_);
    const std::string request = "{\"execute\":" + detail::json::quote(command) +
                                (arguments.empty() ? "" : ",\"arguments\":" + arguments) + ",\"id\":" + id + "}\n";
    socket_.send(request.data(), request.size(), [] {});
    for (;;) {
      // Events and late replies to earlier commands may arrive in between.
      const std::string answer = line();
      if (detail::json::member(answer, "id") != id) continue;
      const std::string error = detail::json::member(answer, "error");
      if (!error.empty())
        throw Error("QEMU refuses " + command + ": " + detail::json::unquote(detail::json::member(error, "desc")));
      return detail::json::member(answer, "return");
    }
  }

  /// Runs a command of the human monitor, for instance `qemu-io drive0 "break read_aio A"`; returns its output.
  std::string human(const std::string& command_line) {
    return detail::json::unquote(
        execute("human-monitor-command", "{\"command-line\":" + detail::json::quote(command_line) + "}"));
  }

  /// Sets a property of an object, for instance of "/machine/peripheral/nvme0".
  /// @param value  JSON text
  void set_property(const std::string& path, const std::string& property, const std::string& value) {
    execute("qom-set", "{\"path\":" + detail::json::quote(path) + ",\"property\":" + detail::json::quote(property) +
                           ",\"value\":" + value + "}");
  }

 private:
  std::string line() {
    size_t end;
    while ((end = received_.find('\n')) == std::string::npos) {
      char buffer[4096];
      received_.append(buffer, socket_.receive(buffer, sizeof buffer, true));
    }
    const std::string first = received_.substr(0, end);
    received_.erase(0, end + 1);
    return first;
  }

  DeadlineSocket socket_;
  std::mutex mutex_;
  std::string received_;
  std::string version_;
  uint64_t commands_ = 0;
};

}  // namespace host

XIO_NAMESPACE_END
