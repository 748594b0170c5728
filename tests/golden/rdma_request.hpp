// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief Replay of RDMA files, the part that is the same for all vendors: requests, what a poster stores for them, and
/// how that is compared with a recording.

#include <cstring>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <vector>

#include <xio/device/arch/arch.hpp>
#include <xio/device/core/status.hpp>
#include <xio/device/core/token.hpp>
#include <xio/vendors/rdma/work.hpp>

#include "golden.hpp"

namespace golden::rdma {

namespace lib = xio::rdma;

/// One request of a case: for a send queue, or for a receive queue, which has pieces of memory alone.
struct Request {
  lib::Work work;
  uint64_t wr_id = 0;
  std::vector<lib::Sge> sges;
  Bytes inline_data;
  bool is_inline = false;
  bool inline_flag = false;  ///< the recorded request asked for inline data, whether it had any or not
  bool in_general = false;   ///< the data go to the encoder in the type that says least about them

  uint64_t bytes() const;
};

/// @param signal_all the queue pair was made so that every operation is signalled
Request request_of(const Json& recorded, bool signal_all);
std::vector<Request> requests_of(const Json& recorded, bool signal_all);

/// Calls `f` with the request's data in the type that says most about it, or least.
template <class F>
auto with_payload(const Request& request, F&& f) {
  if (request.is_inline) {
    if (request.inline_data.size() == sizeof(uint64_t) && !request.in_general) {
      lib::InlineValue value{};
      std::memcpy(&value.value, request.inline_data.data(), sizeof value.value);
      return f(value);
    }
    return f(lib::InlineBytes{request.inline_data.data(), static_cast<uint32_t>(request.inline_data.size())});
  }
  if (request.sges.empty() && !request.in_general) return f(lib::NoPayload{});
  if (request.sges.size() == 1 && !request.in_general) return f(lib::OneSge{request.sges[0]});
  return f(lib::SgeList{request.sges.data(), static_cast<uint32_t>(request.sges.size())});
}

/// Posts the request.
/// @throws EncodersAlone for inline data of no bytes, on a vendor whose queue pairs take no inline data
template <class Vendor, class Queue>
xio::Token post_on(Queue& queue, const Request& request) {
  return with_payload(request, [&](const auto& payload) -> xio::Token {
    if constexpr (Vendor::has_inline || !std::decay_t<decltype(payload)>::is_inline) {
      return queue.try_submit(request.work, payload);
    } else {
      throw EncodersAlone{"inline_payload"};
    }
  });
}

/// Where bytes were copied from.
struct Source {
  std::string region;
  uint64_t offset;
};

/// One store: to memory that the device reads, or to a register.
struct Store {
  bool is_register;
  std::string region;
  uint64_t offset;
  Bytes bytes;
  std::optional<Source> source;  ///< copies of entries: what lay there between the stored bytes is copied too
  uint32_t lane = 0;             ///< that made it
};

/// One fence between stores.
struct Fence {
  xio::arch::FenceKind kind;
  size_t stores;  ///< made before it
  uint32_t lane;
};

/// What became of the requests of one call.
struct Posted {
  xio::Status status;         ///< of the first that was refused
  size_t accepted = 0;        ///< requests before it
  std::vector<Store> stores;  ///< in order
  std::vector<Fence> fences;  ///< in order; the library's own queue pair alone tells
  uint64_t ring_start = 0;    ///< byte offset of the first request's entry
  uint64_t ring_bytes = 0;    ///< that the accepted requests' entries take
  uint64_t ring_size = 0;     ///< of the ring in bytes
};

/// A queue pair: the encoders with a vendor's bookkeeping around them, or the library's own.
class Poster {
 public:
  virtual ~Poster() = default;
  virtual Posted post(const std::vector<Request>& requests) = 0;
  virtual Posted receive(const std::vector<Request>& requests) = 0;
  /// The queues' counters, named as in the file's "before" and "after".
  virtual Json state() const = 0;
};

/// How the library's queue pair is used.
enum class Use {
  alone,  ///< by one thread
  shared  ///< by all waves of a grid
};

/// The library's own queue pair, and what it does in place of what the recording driver does.
class QueuePoster : public Poster {
 public:
  /// The store to a register that announces what a call posted; none where the queue has no such register.
  virtual std::optional<Store> doorbell(const Json& call, bool receive) const = 0;
  /// Fields of entries that every driver fills with numbers of its own.
  virtual std::vector<Store> own_fields() const { return {}; }
  /// Whether the requests can be posted by a queue pair of this Use.
  virtual bool takes(const std::vector<Request>&) const { return true; }
};

/// Memory that remembers what is stored to it. What was never stored is `fill`.
class Memory {
 public:
  static constexpr uint8_t fill = 0xa5;

  void add(const std::string& region, size_t bytes) {
    regions_[region].assign(number_within("bytes of a ring", bytes, 0, 1u << 30), fill);
  }
  void add(const std::string& region, const Bytes& content) { regions_[region] = content; }
  const Bytes& region(const std::string& name) const { return regions_.at(name); }

  void store(const std::string& region, uint64_t offset, const Bytes& bytes);
  void store_register(const std::string& region, uint64_t offset, const Bytes& bytes);
  /// Copies from memory to a register in pieces of `piece` bytes.
  void copy(const std::string& from, uint64_t offset, uint64_t bytes, const std::string& to, uint64_t to_offset,
            uint64_t piece);
  /// The stores since the last call.
  std::vector<Store> take();

 private:
  std::map<std::string, Bytes> regions_;
  std::vector<Store> stores_;
};

/// A word as it lies in memory.
template <class Word>
Bytes bytes_of(Word word) {
  Bytes bytes;
  for (size_t i = 0; i < sizeof word; ++i) bytes.push_back(static_cast<uint8_t>(word >> (8 * i)));
  return bytes;
}

/// Sink of an encoder: one entry of a ring in a Memory.
class RingSink {
 public:
  RingSink(Memory& memory, std::string region, uint64_t start)
      : memory_(memory), region_(std::move(region)), start_(start) {}
  static constexpr bool avoids_branches = true;
  void put(uint32_t i, const lib::Segment& segment);
  void put_chosen(uint32_t i, const lib::Segment& segment) { put(i, segment); }

 private:
  Memory& memory_;
  std::string region_;
  uint64_t start_;
};

/// What is special about a vendor's file.
struct Vendor {
  /// A queue pair in the state that `before` says. @param config name in the file's "configs"
  std::unique_ptr<Poster> (*poster)(const Json& file, const std::string& config, const Json& before);
  void (*completion)(const Json& file, const Json& recorded);
  void (*arm)(const Json& file, const Json& recorded);
  /// @throws Skipped where the requests cannot be compared.
  void (*screen)(const Json& recorded, const std::vector<Request>& requests);
  /// The library's own queue pair in the state that `before` says. @throws EncodersAlone
  std::unique_ptr<QueuePoster> (*queue)(const Json& file, const std::string& config, const Json& before, Use use);
  /// A completion case through the library's own queues. @throws EncodersAlone
  void (*drain)(const Json& file, const Json& recorded);
};

/// Replays all cases of a vendor's file. @throws UnknownForm
void replay_file(const Json& file, Report& report, const Vendor& vendor);

/// Whether these are requests for a receive queue.
inline bool is_receive(const Json& requests) { return !requests.empty() && !requests[0].contains("opcode"); }

/// A recorded number that may be missing.
inline uint32_t number32(const Json& object, const char* key) { return number_in<uint32_t>(number_at(object, key)); }
/// The same, of what memory is divided by: 1 to 65536.
inline uint32_t count32(const Json& object, const char* key) {
  return static_cast<uint32_t>(number_within(key, number_at(object, key), 1, 65536));
}

}  // namespace golden::rdma
