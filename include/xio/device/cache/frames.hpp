// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief The frames of a page cache: which page each of them holds, and who may change that. No commands.

#include <xio/device/cache/handle.hpp>
#include <xio/device/queue/group.hpp>
#include <xio/vendors/nvme/completion.hpp>

XIO_NAMESPACE_BEGIN

namespace detail {
/// @addtogroup kernel_cache
/// @{

/// The word of a frame, all of its state: tag + 1 (63:32; 0: none), generation (31:20), armed (19), state (18:17),
/// dirty (16), pins (15:0). The set and the tag name the page.
///
/// failed (also: empty) -> loading -> valid -> dirty -> writing -> valid. A page that is being written is readable, and
/// stays in the table, so that no drive is asked for a page before its write has ended. Each command of a frame has a
/// generation of its own: whoever looks late must not take the end of an earlier command for that of this one.
struct CacheWord {
  static constexpr uint64_t one_generation = uint64_t{1} << 20, generations = uint64_t{0xfff} << 20;
  static constexpr uint64_t armed = uint64_t{1} << 19;  ///< the record of the end is that of this command
  static constexpr uint64_t dirty = uint64_t{1} << 16, pins = 0xffff;
  static constexpr uint64_t failed = 0, loading = uint64_t{1} << 17, valid = uint64_t{2} << 17,
                            writing = uint64_t{3} << 17;
  static constexpr uint64_t identity = ~uint64_t{0} << 20;
  static constexpr uint64_t unusable = valid | pins;  ///< no page, and never free

  XIO_HOST_DEVICE static constexpr uint64_t state(uint64_t word) { return word & writing; }
  XIO_HOST_DEVICE static constexpr bool is_readable(uint64_t word) { return (word & valid) != 0; }
  XIO_HOST_DEVICE static constexpr bool is_under_way(uint64_t word) { return (word & loading) != 0; }
  XIO_HOST_DEVICE static constexpr bool is_same(uint64_t a, uint64_t b) { return ((a ^ b) & identity) == 0; }
  /// Whether a word of the tag, whose lower half was readable, has had no command until it was `again`. One that was
  /// readable stays so until its next command.
  XIO_DEVICE_INLINE static bool is_still_readable(uint32_t tag, uint32_t low, uint64_t again) {
    return ((again & identity) | valid) == arch::join(low & static_cast<uint32_t>(generations | valid), tag);
  }
  XIO_HOST_DEVICE static constexpr uint64_t next_generation(uint64_t word) {
    return (word + one_generation) & generations;
  }
};

/// A frame and its word, as one look found them; word 0: the page is absent.
struct Frame {
  uint32_t number = 0;
  uint64_t word = 0;
};

/// A command that a lane is to submit for a frame, whose word it has changed for that.
struct PageCommand {
  enum Kind : uint32_t { none, read, write } kind = none;
  bool evicts = false;  ///< a page had to leave
  Frame frame;
  nvme::DriveAddress where{};
  uint32_t queue = 0;
};

/// What became of a search for a frame. `full`: no frame of the set may be taken now.
enum class Search : uint32_t { locked, present, full, found };

/// The handle, with members that each lane uses for itself in vector registers: a kernel with a cache has no scalar
/// register to spare.
XIO_DEVICE_INLINE CacheHandle in_vector_registers(CacheHandle handle) {
  handle.pages = arch::per_lane(handle.pages);
  handle.page_shift = arch::per_lane(handle.page_shift);
  handle.set_shift = arch::per_lane(handle.set_shift);
  handle.ends = arch::per_lane(handle.ends);
  handle.sets = arch::per_lane(handle.sets);
  handle.counts = arch::per_lane(handle.counts);
  return handle;
}

/// The words of a set are its lock, where the next search begins, the tag of a page that asks for the next frame, and
/// how many others have left one to it.
///
/// The frames, and the moves of their words. Nothing here waits, nor does any I/O.
class Frames {
  using Word = CacheWord;

 public:
  static constexpr arch::Scope scope = arch::Scope::agent;
  /// Of KeptResult::ended: the command was never submitted.
  static constexpr uint64_t unsubmitted = uint64_t{1} << 62;

  XIO_HOST_DEVICE explicit Frames(const CacheHandle& cache) : c_(in_vector_registers(cache)) {}
  XIO_DEVICE_INLINE const CacheHandle& handle() const { return c_; }
  /// What lies `bytes` behind a pointer that all lanes share: a GPU adds the two when it accesses it.
  template <class T>
  XIO_DEVICE_INLINE static T* at_offset(T* first, uint32_t bytes) {
    return reinterpret_cast<T*>(reinterpret_cast<char*>(first) + bytes);
  }
  XIO_DEVICE_INLINE char* at(uint32_t frame) const { return c_.data + (uint64_t{frame} << c_.page_shift); }
  XIO_DEVICE_INLINE uint32_t ways() const { return 1u << c_.way_shift; }
  XIO_DEVICE_INLINE uint32_t tag_of(uint64_t page) const { return static_cast<uint32_t>(page >> c_.set_shift) + 1; }
  /// The first frame of a page's set.
  XIO_DEVICE_INLINE uint32_t first_of(uint64_t page) const { return set_of(page) << c_.way_shift; }
  /// The page of a frame that has one.
  XIO_DEVICE_INLINE uint64_t page_of(Frame frame) const {
    const uint32_t tag = static_cast<uint32_t>(frame.word >> 32) - 1;
    const uint32_t low = ((frame.number >> c_.way_shift) ^ mix(tag)) & ((1u << c_.set_shift) - 1);
    return uint64_t{tag} << c_.set_shift | low;
  }

  XIO_DEVICE_INLINE uint64_t* word_of(uint32_t frame) const { return at_offset(c_.words, frame * 8); }
  XIO_DEVICE_INLINE uint64_t observe(uint32_t frame) const { return arch::observe<scope>(word_of(frame)); }
  /// The word if the frame still holds or awaits the page of `before`, else 0.
  XIO_DEVICE_INLINE uint64_t again(Frame before) const {
    const uint64_t word = observe(before.number);
    return (word ^ before.word) >> 32 == 0 ? word : 0;
  }

  /// Where the words of the page's set tell of it: the lower half of its frame's word, 0 if the page is absent, and the
  /// frame, some of the set if the page is absent, as the offset of its word in bytes. The words of up to eight ways
  /// are on their way together.
  struct Place {
    uint32_t low, offset;
  };
  XIO_DEVICE_INLINE Place look_up(uint64_t page) const {
    const uint32_t at = set_of(page) << (c_.way_shift + 3);
    Place place = XIO_LIKELY(ways() == 8) ? look_at<8>(at, tag_of(page)) : look_through(at, tag_of(page));
    if (page >= c_.pages) place.low = 0;
    return place;
  }
  /// The frame that a place of the page tells of.
  XIO_DEVICE_INLINE Frame frame_of(uint64_t page, Place place) const {
    return {place.offset / 8, place.low != 0 ? uint64_t{tag_of(page)} << 32 | place.low : 0};
  }
  /// The frame that holds or awaits the page.
  XIO_DEVICE_INLINE Frame find(uint64_t page) const { return frame_of(page, look_up(page)); }
  /// A load, after which coherent ones of the scope follow once order() was called.
  template <arch::Scope S, class T>
  XIO_DEVICE_INLINE static T look(const T* from) {
    if constexpr (arch::looks_acquire) {
      return arch::observe<S>(from);
    } else {
      return arch::load<S>(from);
    }
  }
  template <arch::Scope S>
  XIO_DEVICE_INLINE static void order() {
    if constexpr (!arch::looks_acquire) arch::order_loads<S>();
  }

  XIO_DEVICE_INLINE uint64_t* word_of(Place place) const { return at_offset(c_.words, place.offset); }
  /// The data at a place, `bytes` behind the beginning of its page.
  XIO_DEVICE_INLINE char* at(Place place, uint32_t bytes) const {
    return c_.data + (uint64_t{place.offset} << (c_.page_shift - 3) | bytes);
  }
  /// Whether the frame is marked as used lately.
  XIO_DEVICE_INLINE uint32_t used(Place place) const { return arch::load<scope>(at_offset(c_.notes, place.offset)); }
  /// Marks it.
  XIO_DEVICE_INLINE void use(Place place) const { arch::store<scope>(at_offset(c_.notes, place.offset), 1u); }
  XIO_DEVICE_INLINE void use_if_not(uint32_t frame) const {
    if (const Place place{0, frame * 8}; used(place) == 0) use(place);
  }
  /// The queue of the frame's last command: whoever waits for its end takes completions there.
  XIO_DEVICE_INLINE uint32_t queue_of(uint32_t frame) const { return arch::load<scope>(&c_.notes[2 * frame + 1]); }

  /// Takes a pin of a frame that is as `frame.word` says, in one of the states `allowed`. Not beyond the most pins.
  XIO_DEVICE bool pin(Frame& frame, bool stable, uint64_t bits) const {
    const uint64_t before = frame.word;
    while (Word::is_same(frame.word, before) && (frame.word & Word::pins) != Word::pins &&
           (stable ? Word::state(frame.word) == Word::valid : Word::is_readable(frame.word))) {
      const uint64_t next = (frame.word + 1) | bits;
      if (arch::compare_exchange_ordered<scope>(word_of(frame.number), frame.word, next)) {
        frame.word = next;
        return true;
      }
    }
    return false;
  }
  /// Gives a pin back. The caller has waited for its stores.
  XIO_DEVICE_INLINE void unpin(uint32_t frame) const { arch::publish_add<scope>(word_of(frame), ~uint64_t{0}); }

  /// Whether the frame's command has ended, and how; `word` is what the caller has observed before.
  XIO_DEVICE bool ended(Frame frame, Status& how, bool& submitted) const {
    const KeptResult& end = c_.ends[frame.number];
    if ((frame.word & Word::armed) == 0) return false;  // check: the record is of this command
    const uint64_t word = arch::observe<arch::Scope::system>(&end.ended);
    if ((word & KeptResult::has_ended) == 0) return false;
    uint32_t status = static_cast<uint32_t>(word) & Notification::device_status;
    if (c_.splits != 0) {
      const auto& parts = reinterpret_cast<const Notification&>(end);
      status |= arch::load<arch::Scope::system>(&parts.status) & Notification::device_status;
    }
    submitted = (word & unsubmitted) == 0;
    how = nvme::CompletionFormat::decode(static_cast<uint16_t>(status));
    return true;
  }

  /// Whoever looks settles: ends a frame's command if it has ended. Returns whether it has, or somebody else did so.
  XIO_DEVICE bool settle(Frame frame) const {
    Status how;
    bool submitted = true;
    if (!ended(frame, how, submitted)) return false;
    const bool bad = !how.is_ok() || !submitted;
    const bool reads = Word::state(frame.word) == Word::loading;
    uint64_t now = frame.word;
    do {
      if (((now ^ frame.word) & (Word::identity | Word::writing)) != 0) return true;  // check: somebody else has
    } while (!arch::compare_exchange_ordered<scope>(word_of(frame.number), now, after(now, reads, bad)));
    if (!how.is_ok()) arch::fetch_add<scope>(reads ? &c_.counts->read_errors : &c_.counts->write_errors, uint64_t{1});
    // A page that could not be written goes last.
    if (bad && !reads) use({0, frame.number * 8});
    return true;
  }

  /// Whether the frame exists only as a number: the only set of a small cache has at least four.
  XIO_DEVICE_INLINE static bool is_unusable(uint64_t word) { return word == CacheWord::unusable; }

  /// Ends a command that was refused: nobody's error but the caller's.
  XIO_DEVICE void refuse(Frame frame) const {
    arch::store<arch::Scope::system>(&c_.ends[frame.number].ended, KeptResult::has_ended | unsubmitted);
    arch::wait_stores();
    (void)settle(frame);
  }

  /// From dirty to writing, if the frame is as `frame.word` says and nobody has pinned it.
  XIO_DEVICE PageCommand start_write(Frame frame, uint32_t lane_queue) const {
    const uint64_t old = frame.word;
    if (Word::state(old) != Word::valid || (old & Word::dirty) == 0 || (old & Word::pins) != 0) return {};
    const uint64_t keep = old & ~(Word::dirty | Word::generations | Word::armed | Word::writing);
    return start(PageCommand::write, frame, keep | Word::next_generation(old) | Word::writing, lane_queue);
  }

  /// Chooses a frame for an absent page: its read, or the write of a victim, is the caller's to submit. The set is
  /// locked by a try around code that waits for nothing; a loser looks again.
  /// @param lane_queue queue of the calling wave on each drive
  /// @param pins       that the frame gets: 1, for the lane that loads a page is to see it before another evicts it
  XIO_DEVICE Search take(uint64_t page, uint32_t lane_queue, uint64_t pins, bool writes, Actors<Sharing::grid> each,
                         PageCommand& command) const {
    const uint32_t first = first_of(page);
    const uint32_t tag = tag_of(page);
    uint32_t* const set = &c_.sets[4 * (first >> c_.way_shift)];
    uint32_t unlocked = 0;
    const bool acts = each.acts() && arch::compare_exchange_acquire<scope>(set, unlocked, 1u);
    const Frame there = find(page);
    bool present = there.word != 0;
    Frame best = there;
    uint32_t cost = worst;
    if (present && Word::state(there.word) == Word::failed) {
      present = (there.word & Word::pins) != 0;  // its readers have yet to see the error
      if (!present) cost = 0;
    }
    const uint32_t hand = arch::load<scope>(set + 1);
    uint32_t way = 0;
    for (bool more = acts && !present && cost > 1; each.go_on(more);) {
      if (!more) continue;
      const uint32_t frame = first + ((hand + way) & (ways() - 1));
      const uint64_t word = observe(frame);
      const uint32_t now = cost_of(word, used({0, frame * 8}), writes);
      if (now < cost) cost = now, best = {frame, word};
      more = ++way < ways() && cost > 1;
    }
    Search result = !acts ? Search::locked : present ? Search::present : Search::full;
    if (acts && !present) {
      if (yields_to_other(set, tag, cost)) cost = worst;
      const bool evicts = cost >= of_dirty;
      if (cost < worst) {
        if (evicts) {
          command = start_write(best, lane_queue);
        } else {
          command = start(PageCommand::read, best,
                          uint64_t{tag} << 32 | Word::next_generation(best.word) | Word::loading | pins, lane_queue);
          command.evicts = command.kind == PageCommand::read && Word::is_readable(best.word);
        }
        if (command.kind != PageCommand::none) result = Search::found;
        arch::store<scope>(set + 1, best.number + 1);
      }
      // Who loads a page asks no more; who has to wait asks for the next frame, if nobody does.
      if (command.kind == PageCommand::read) {
        arch::store<scope>(set + 2, 0u);
      } else if (pins != 0 && arch::load<scope>(set + 2) == 0) {
        arch::store<scope>(set + 2, tag);
        arch::store<scope>(set + 3, 0u);
      }
    }
    // All were used: from now on they are not.
    way = 0;
    for (bool more = acts && (cost & of_used) != 0 && cost < worst; each.go_on(more);) {
      if (!more) continue;
      arch::store<scope>(&c_.notes[2 * (first + way)], 0u);
      more = ++way < ways();
    }
    if (acts) arch::publish<scope>(set, 0u);
    return result;
  }
  /// Asks for the next frame no more: the deadline of who waits for the page has passed.
  XIO_DEVICE void ask_no_more(uint64_t page) const {
    uint32_t tag = tag_of(page);
    arch::compare_exchange<scope>(&c_.sets[4 * (first_of(page) >> c_.way_shift) + 2], tag, 0u);
  }

 private:
  /// How often others leave a frame to a page that was refused one. It may be that of a wave that runs no more.
  static constexpr uint32_t most_refusals = 65536;
  /// Whether a frame that costs `cost` is left to another page of the set, of which a lane waits longer.
  XIO_DEVICE static bool yields_to_other(uint32_t* set, uint32_t tag, uint32_t cost) {
    const uint32_t asked = arch::load<scope>(set + 2);
    if (asked == 0 || asked == tag || cost == worst) return false;
    const uint32_t refusals = arch::load<scope>(set + 3) + 1;
    arch::store<scope>(set + 3, refusals);
    return refusals < most_refusals;  // check: those who ask may be gone
  }

  // What a frame costs that is to hold another page.
  static constexpr uint32_t of_used = 2, of_dirty = 4, worst = 8;
  XIO_DEVICE static uint32_t cost_of(uint64_t word, uint32_t used, bool writes) {
    if ((word & Word::pins) != 0 || Word::is_under_way(word)) return worst;
    if (Word::state(word) == Word::failed) return 0;
    return 1 + (used != 0 ? of_used - 1 : 0) + (writes && (word & Word::dirty) != 0 ? of_dirty : 0);
  }

  /// look_up() in `Count` ways, whose words begin at an offset.
  template <uint32_t Count>
  XIO_DEVICE_INLINE Place look_at(uint32_t at, uint32_t tag) const {
    arch::Halves words[Count];
    arch::look_at_words<scope>(at_offset(c_.words, at), words);
    order<scope>();  // order: words before elements
    uint32_t low = 0, way = 0;
    for (uint32_t i = 0; i < Count; ++i) {
      const bool here = words[i].high == tag;
      low = here ? words[i].low : low;
      way = here ? 8 * i : way;
    }
    return {low, at + way};
  }
  /// The same of a set that has not eight ways.
  XIO_DEVICE_INLINE Place look_through(uint32_t at, uint32_t tag) const {
    if (ways() < 8) return look_at<4>(at, tag);
    Place place{0, at};
    for (uint32_t left = ways(); left != 0; left -= 8, at += 64) {
      const Place found = look_at<8>(at, tag);
      if (found.low != 0) place = found;
    }
    return place;
  }
  XIO_DEVICE_INLINE uint32_t set_of(uint64_t page) const {
    const uint32_t mixed = mix(static_cast<uint32_t>(page >> c_.set_shift));
    return (static_cast<uint32_t>(page) ^ mixed) & ((1u << c_.set_shift) - 1);
  }
  XIO_DEVICE_INLINE static constexpr uint32_t mix(uint32_t tag) {
    const uint32_t product = tag * 0x9e3779b1u;
    return product ^ product >> 15;
  }

  XIO_DEVICE static constexpr uint64_t after(uint64_t word, bool reads, bool bad) {
    const uint64_t rest = word & ~Word::writing;
    if (reads) return rest | (bad ? Word::failed : Word::valid);
    return rest | Word::valid | (bad ? Word::dirty : 0);
  }

  /// Takes the frame for a command: first the word, then the record of the end, and then settlers may look there.
  XIO_DEVICE PageCommand start(PageCommand::Kind kind, Frame frame, uint64_t next, uint32_t lane_queue) const {
    if (!arch::compare_exchange_ordered<scope>(word_of(frame.number), frame.word, next)) return {};
    PageCommand command;
    command.kind = kind;
    command.frame = {frame.number, next | Word::armed};
    command.where = locate(page_of(command.frame));
    command.queue = command.where.drive * c_.drives.queues_per_drive + lane_queue;
    KeptResult& end = c_.ends[frame.number];
    uint64_t first = 0;
    if (c_.splits != 0) {
      // A Notification, which counts the parts of a page up to the mark of a kept result.
      first = KeptResult::has_ended - parts(c_.drives.queues[command.queue]);
      arch::store<arch::Scope::system>(&end.result, uint64_t{0});
    }
    arch::store<arch::Scope::system>(&end.ended, first);
    arch::store<scope>(&c_.notes[2 * frame.number + 1], command.queue);
    arch::wait_stores();  // order: record before settlers look
    arch::publish_add<scope>(word_of(frame.number), uint64_t{Word::armed});
    return command;
  }

  XIO_DEVICE nvme::DriveAddress locate(uint64_t page) const {
    const uint64_t block = page << (c_.page_shift - c_.drives.queues->block_shift);
    return c_.drives.drives == 1 ? nvme::DriveAddress{0, block} : c_.drives.locate(block);  // spares a division
  }

  /// Commands that a page takes on its drive.
  XIO_DEVICE uint64_t parts(const nvme::QueueHandle& queue) const {
    const uint32_t blocks = 1u << (c_.page_shift - queue.block_shift);
    return queue.max_blocks == 0 ? 1 : (blocks + queue.max_blocks - 1) / queue.max_blocks;
  }

  CacheHandle c_;
};

/// @}
}  // namespace detail

XIO_NAMESPACE_END
