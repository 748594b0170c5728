// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief A page cache in a kernel: elements and pages of a set of drives, read and written in GPU memory.
///
/// @snippet cache.cpp cache

#include <xio/device/cache/commands.hpp>
#include <xio/device/cache/element.hpp>

XIO_NAMESPACE_BEGIN
/// @addtogroup kernel_cache
/// @{

/// A page cache over a set of drives. Trivially copyable; a kernel constructs it from a handle.
///
/// Lanes that call together are served together: those that miss one page submit one command, and those that miss pages
/// of one drive ring once. Any number of waves may use a cache of any number of frames: while a lane waits, it holds
/// nothing but the page that it is loading. No thread serves a cache. Other users of the drives are not seen: pages
/// that they write stay as they were loaded until invalidate().
///
/// All calls may be made by any lane at any time. One element that several lanes get and put at once is read and
/// written in pieces of 8 bytes, or of 4 if its size is no multiple of 8.
///
/// @tparam Options ReadOnly, WriteBack, or a type derived from one of them that hides a member
template <class Options = ReadOnly>
class Cache {
  using Word = detail::CacheWord;
  using Frame = detail::Frame;
  using PageCommand = detail::PageCommand;
  using Place = detail::Frames::Place;
  static constexpr arch::Scope scope = detail::Frames::scope;
  static constexpr bool writes = Options::writes;

 public:
  /// @param wave number of the calling wave: selects the queue of each drive
  XIO_HOST_DEVICE Cache(const CacheHandle& cache, uint32_t wave)
      : commands_{detail::Frames(cache), wave % cache.drives.queues_per_drive} {}
  XIO_DEVICE_INLINE const CacheHandle& handle() const { return commands_.frames.handle(); }  ///< what it was made from

  /// Reads an element that lies in one page.
  /// @param offset bytes from the beginning of the page, a multiple of the element's size
  /// @return the status of the page's read if that failed while this lane waited for it; Status::timed_out;
  /// Status::broken if the queue of its drive is broken, or if loads of broken queues hold all frames of the page's set
  /// @snippet cache.cpp get
  template <class T>
  XIO_DEVICE_INLINE Status get(uint64_t page, uint32_t offset, T& value, Deadline until) {
    return get_within(page, offset, value, [&]() { return until; });
  }
  /// get() if the page is present, else returns false, with any content of `value`. Waits for nothing.
  /// @snippet cache.cpp get_present
  template <class T>
  XIO_DEVICE_INLINE bool get_present(uint64_t page, uint32_t offset, T& value) {
    // Of an absent page a frame of its set is read, in vain: that takes less than a branch.
    const Place place = commands_.frames.look_up(page);
    bool marked;
    const bool hit = try_read(place, commands_.frames.tag_of(page), offset, value, marked);
    if (hit && !marked) commands_.frames.use(place);
    return hit;
  }

  /// Writes an element of 4 n bytes that lies in one page. It reaches the drive by flush(), or when others need the
  /// frame.
  /// @return as of get()
  /// @snippet cache.cpp put
  template <class T>
  XIO_DEVICE Status put(uint64_t page, uint32_t offset, const T& value, Deadline until) {
    static_assert(writes, "a cache that is ReadOnly has no put(): use Cache<WriteBack>");
    return bring<true>(page, commands_.frames.find(page), until, [&](uint64_t group, bool acts, Frame found) {
      return try_write(group, acts, found, offset, value);
    });
  }

  /// Starts to load each lane's page, without waiting for it. Does nothing where no frame is free now.
  /// @snippet cache.cpp prefetch
  XIO_DEVICE PageToken prefetch(uint64_t page, Deadline until) {
    return {page,
            bring<false>(page, commands_.frames.find(page), until, [](uint64_t, bool acts, Frame) { return acts; })};
  }
  /// Waits until the page of prefetch() is present, and loads it if it is not.
  /// @snippet cache.cpp prefetch
  XIO_DEVICE Status wait(const PageToken& token, Deadline until) {
    if (!token.status.is_ok()) return token.status;
    return bring<true>(token.page, commands_.frames.find(token.page), until,
                       [&](uint64_t, bool acts, Frame found) { return acts && Word::is_readable(found.word); });
  }

  /// Pins a page for ordinary loads. It stays until unpin(); meanwhile others put into it.
  ///
  /// A lane that holds pins while it, or another lane of its wave, waits for a page of a set that is all pinned ends
  /// with Status::timed_out: pin few pages, and unpin them before the next ones.
  /// @snippet cache.cpp pin
  XIO_DEVICE PinnedPage pin(uint64_t page, Deadline until) { return pin_as(page, until, false); }
  /// The same for ordinary stores: the page counts as written from now on.
  /// @snippet cache.cpp pin
  XIO_DEVICE PinnedPage pin_to_write(uint64_t page, Deadline until) {
    static_assert(writes, "a cache that is ReadOnly has no pin_to_write(): use Cache<WriteBack>");
    return pin_as(page, until, true);
  }
  /// Gives the page back; the lane's stores to it are written back.
  /// @snippet cache.cpp pin
  XIO_DEVICE void unpin(const PinnedPage& pinned) {
    arch::full_fence_system();
    if (pinned.status.is_ok()) commands_.frames.unpin(pinned.frame);
  }

  /// Writes every page that was put into before this call, then the drives' volatile caches. The lanes that call share
  /// the work; each returns the first error of its share. A page that could not be written stays dirty, and a later
  /// flush() tries again.
  /// @snippet cache.cpp flush
  XIO_DEVICE Status flush(Deadline until) {
    static_assert(writes, "a cache that is ReadOnly has no flush(): use Cache<WriteBack>");
    const uint64_t group = arch::active();
    const uint32_t lanes = arch::count_lanes(group);
    Status status;
    for (uint32_t base = 0; base < handle().frames(); base += lanes) {
      const Status now = flush_frame(group, base + arch::rank_in(group), until);
      if (status.is_ok()) status = now;
    }
    for (uint32_t base = 0; base < handle().drives.drives; base += lanes) {
      const Status now = commands_.flush_drive(group, base + arch::rank_in(group), until);
      if (status.is_ok()) status = now;
    }
    return status;
  }

  /// Forgets a page, and what was put into it since it was last written: the next get() reads it from the drive. For
  /// pages that others have written there.
  /// @snippet cache.cpp invalidate
  XIO_DEVICE Status invalidate(uint64_t page, Deadline until) {
    const uint64_t group = arch::active();
    Status status;
    bool wanted = true;
    for (uint32_t round = 0;; ++round) {
      const bool late = is_late(round, until);
      const Frame found = commands_.frames.find(page);
      bool waits = false;
      if (wanted) {
        waits = Word::is_under_way(found.word);
        if (waits) {
          waits = !commands_.frames.settle(found);
        } else if (found.word == 0 || ((found.word & Word::pins) == 0 && forget(found))) {
          wanted = false;
        }
      }
      if (commands_.progress(group, wanted && waits, found)) status = Status::broken, wanted = false;
      if (wanted && late) status = Status::timed_out, wanted = false;
      if (arch::ballot(group, wanted) == 0) return status;
      arch::pause(round);
    }
  }

 private:
  template <class T, class O>
  friend class BlockArray;

  /// get() with the deadline `until()`, which a hit does not ask for.
  template <class T, class Until>
  XIO_DEVICE_INLINE Status get_within(uint64_t page, uint32_t offset, T& value, Until until) {
    const Place place = commands_.frames.look_up(page);
    bool marked;
    const bool hit = try_read(place, commands_.frames.tag_of(page), offset, value, marked);
    if (XIO_LIKELY(hit & marked)) return Status::ok;
    if (hit) {
      commands_.frames.use(place);
      return Status::ok;
    }
    const Fetched<T> fetched = fetch<T>(*this, page, offset, until(), place);
    if (fetched.status.is_ok()) value = fetched.value;
    return fetched.status;
  }
  template <class T>
  struct Fetched {
    T value;
    Status status;
  };
  template <class T>
  XIO_RARE XIO_DEVICE static Fetched<T> fetch(Cache cache, uint64_t page, uint32_t offset, Deadline until,
                                              Place place) {
    Fetched<T> result{};
    page = arch::per_lane(page);  // computes what it needs anew: for a hit that would have to be kept
    const Frame first = cache.commands_.frames.frame_of(page, place);
    result.status = cache.template bring<true>(page, first, until, [&](uint64_t, bool acts, Frame found) {
      const Place now{static_cast<uint32_t>(found.word), found.number * 8};
      bool marked;
      if (!acts || !cache.try_read(now, static_cast<uint32_t>(found.word >> 32), offset, result.value, marked))
        return false;
      if (!marked) cache.commands_.frames.use(now);
      return true;
    });
    return result;
  }

  /// The element, if the place was readable, and held the page of the tag before and after the element was read. The
  /// drive may have written it for another page meanwhile: so the second look is ordered at the scope of the system.
  /// @param marked whether the frame is marked as used lately
  template <class T>
  XIO_DEVICE_INLINE bool try_read(Place place, uint32_t tag, uint32_t offset, T& value, bool& marked) const {
    const detail::Frames& frames = commands_.frames;
    const detail::Element<T> got = detail::Element<T>::load(frames.at(place, detail::Element<T>::begin(offset)));
    marked = frames.used(place) != 0;
    detail::Frames::order<arch::Scope::system>();  // order: element before the second look
    const uint64_t again = arch::load<scope>(frames.word_of(place));
    value = got.value(offset);
    return Word::is_still_readable(tag, place.low, again);
  }

  /// Pins, stores, marks and unpins at once, one pin for all lanes of a page: nobody is waited for in between.
  template <class T>
  XIO_DEVICE bool try_write(uint64_t group, bool acts, Frame found, uint32_t offset, const T& value) const {
    acts = acts && Word::state(found.word) == Word::valid;  // pages that are being written are stable
    const uint64_t same = arch::match(group, acts ? uint64_t{found.number} : ~uint64_t{0});
    const uint32_t leader = arch::first_lane(same);
    const bool leads = acts && arch::lane() == leader;
    // check: one page. The lanes' looks may differ in age.
    acts = Word::is_same(arch::shuffle(group, found.word, leader), found.word) && acts;
    const uint64_t pinned = arch::ballot(group, leads && commands_.frames.pin(found, true, Word::dirty));
    acts = acts && (pinned >> leader & 1) != 0;
    if (acts) detail::Element<T>::store(commands_.frames.at(found.number), offset, value);
    arch::converge(group);  // order: other lanes' elements before the leader's wait
    if (acts && leads) {
      commands_.frames.use_if_not(found.number);
      arch::wait_stores();  // order: elements before the pin's end
      commands_.frames.unpin(found.number);
    }
    return acts;
  }

  XIO_DEVICE PinnedPage pin_as(uint64_t page, Deadline until, bool write) {
    PinnedPage result;
    result.status = bring<true>(page, commands_.frames.find(page), until, [&](uint64_t, bool acts, Frame found) {
      if (!acts || !commands_.frames.pin(found, write, write ? Word::dirty : 0)) return false;
      commands_.frames.use_if_not(found.number);
      result.frame = found.number;
      result.data = commands_.frames.at(found.number);
      return true;
    });
    arch::acquire_system();  // order: the drive's data before loads
    return result;
  }

  XIO_DEVICE bool forget(Frame found) const {
    const uint64_t next = Word::next_generation(found.word) | Word::failed;
    return arch::compare_exchange_ordered<scope>(commands_.frames.word_of(found.number), found.word, next);
  }

  XIO_DEVICE_INLINE static bool is_late(uint32_t round, Deadline until) {
    return round % arch::looks_per_clock == arch::looks_per_clock - 1 && until.passed();
  }

  /// Brings each lane's page into a frame, and calls `use(group, acts, frame)` until it returns true.
  /// @param found what the caller's look has shown
  /// @tparam Waits whether a load that is on its way is not enough
  template <bool Waits, class Use>
  XIO_DEVICE Status bring(uint64_t page, Frame found, Deadline until, Use use) {
    const uint64_t group = arch::active();
    Status status = page < handle().pages ? Status::ok : Status::out_of_range;
    bool wanted = status.is_ok();
    uint64_t waited = 0;   // word of the load that this lane waits for
    uint32_t held = none;  // frame that this lane loads, and has pinned
    uint64_t lost = 0;     // ways of the page's set that can never be had, as their last looks have shown
    for (uint32_t round = 0;; ++round) {
      const bool late = is_late(round, until);
      if (round != 0) {
        if (found.word != 0) found.word = commands_.frames.again(found);
        if (found.word == 0) found = commands_.frames.find(page);
      }
      // Whoever looks settles.
      if (wanted && Word::is_under_way(found.word) && commands_.frames.settle(found))
        found.word = commands_.frames.again(found);
      const bool ready = wanted && Word::is_readable(found.word);
      if (arch::ballot(group, ready) != 0 && use(group, ready, found)) wanted = false;
      bool absent = wanted && found.word == 0;
      if (wanted && found.word != 0 && Word::state(found.word) == Word::failed) {
        Status how;
        bool submitted = true;
        // check: the record is of this load
        const bool known = commands_.frames.ended(found, how, submitted) && commands_.frames.again(found) == found.word;
        // check: this lane has waited for it
        if (known && submitted && Word::is_same(found.word, waited)) status = how, wanted = false;
        absent = wanted;
      }
      if (wanted && Word::state(found.word) == Word::loading) waited = found.word, wanted = Waits;
      Frame awaited = found;
      if (arch::ballot(group, absent) != 0) {
        bool full = false;
        const Frame taken = load_absent(group, absent, page, Waits, until, status, full);
        if (taken.word != 0) awaited = found = taken, waited = taken.word, held = Waits ? taken.number : none;
        if (absent && (!Waits || !status.is_ok())) wanted = false;
        if (full) {
          // Whoever looks settles what is on its way in the set, one frame a round.
          const uint32_t way = round & (commands_.frames.ways() - 1);
          awaited.number = commands_.frames.first_of(page) + way;
          awaited.word = commands_.frames.observe(awaited.number);
          if (Word::is_under_way(awaited.word) && commands_.frames.settle(awaited)) awaited.word = 0;
          lost &= ~(uint64_t{1} << way);
          if (detail::Frames::is_unusable(awaited.word)) lost |= uint64_t{1} << way;
        }
      }
      Status::Code given_up = Status::ok;
      if (wanted && late) given_up = Status::timed_out;
      if (commands_.progress(group, wanted && Word::is_under_way(awaited.word), awaited)) {
        // A frame of the set, or the page itself.
        const bool page_lost = found.word != 0 && awaited.number == found.number;
        // check: its loader has left it. Before, that may yet find its command refused, and the frame is free.
        const bool left = (awaited.word & Word::pins) == 0;
        if (!page_lost && left) lost |= uint64_t{1} << (awaited.number & (commands_.frames.ways() - 1));
        if (page_lost || lost == ~uint64_t{0} >> (64 - commands_.frames.ways())) given_up = Status::broken;
      }
      if (given_up != Status::ok) {
        if (Waits && found.word == 0) commands_.frames.ask_no_more(page);
        status = given_up, wanted = false;
      }
      if (!wanted && held != none) commands_.frames.unpin(held), held = none;
      if (arch::ballot(group, wanted) == 0) return status;
      arch::pause(round);
    }
  }

  /// Takes frames for the absent pages, one for the lanes of each page, and submits what that needs together.
  /// @param full whether none of the set was free for the calling lane's page
  /// @return the frame that the calling lane loads now
  XIO_DEVICE Frame load_absent(uint64_t group, bool absent, uint64_t page, bool pins, Deadline until, Status& status,
                               bool& full) {
    const bool leads = arch::leads(group, absent ? page : ~uint64_t{0}) && absent;
    PageCommand command;
    detail::Search result = leads ? detail::Search::locked : detail::Search::present;
    // A lane that has lost a set to another one tries again at once: their commands share a doorbell.
    for (uint32_t tries = 0; tries < arch::wave_size(); ++tries) {
      const bool again = result == detail::Search::locked;
      if (arch::ballot(group, again) == 0) break;
      let_act(Group<Sharing::grid>(group), again, [&](Actors<Sharing::grid> each) XIO_INLINE_LAMBDA {
        const detail::Search now =
            commands_.frames.take(page, commands_.lane_queue, pins ? 1 : 0, writes, each, command);
        if (again) result = now;
      });
    }
    Status refused;
    commands_.submit(group, command, until, refused);
    commands_.count(group, &CacheCounts::misses, command.kind == PageCommand::read);
    commands_.count(group, &CacheCounts::evictions, command.evicts);
    commands_.count(group, &CacheCounts::stuck, result == detail::Search::full);
    full = result == detail::Search::full;
    if (command.kind != PageCommand::read) return {};  // the write of a victim is not what the lane has asked for
    if (!refused.is_ok()) status = refused;
    return command.frame;
  }

  /// Writes the page of each lane's frame if it is dirty.
  XIO_DEVICE Status flush_frame(uint64_t group, uint32_t frame, Deadline until) {
    Status status;
    uint64_t begun = 0;  // word of the write that this lane waits for
    bool pending = frame < handle().frames();
    for (uint32_t round = 0;; ++round) {
      const bool late = is_late(round, until);
      Frame now{frame, pending ? commands_.frames.observe(frame) : 0};
      PageCommand command;
      const uint64_t state = Word::state(now.word);
      if (pending && begun != 0 && state != Word::loading && Word::is_same(now.word, begun)) {
        Status how;
        bool submitted = true;
        // check: the record is of this write
        if (commands_.frames.ended(now, how, submitted)) {
          if (state == Word::writing) (void)commands_.frames.settle(now);
          status = how;
          pending = !submitted;  // by another wave, to which the queue had no room
          begun = 0;
        }
      } else if (pending && state == Word::writing) {
        begun = now.word;  // what was put before is in it
      } else if (pending && state == Word::valid && (now.word & Word::dirty) != 0) {
        command = commands_.frames.start_write(now, commands_.lane_queue);
        if (command.kind != PageCommand::none) begun = command.frame.word;
      } else {
        pending = false;
      }
      Status refused;
      commands_.submit(group, command, until, refused);
      if (!refused.is_ok()) status = refused, pending = false;
      if (commands_.progress(group, pending && Word::is_same(now.word, begun), now))
        status = Status::broken, pending = false;
      if (pending && late) status = Status::timed_out, pending = false;
      if (arch::ballot(group, pending) == 0) return status;
      arch::pause(round);
    }
  }

  static constexpr uint32_t none = ~0u;
  detail::PageCommands<typename Options::QueuePolicy> commands_;
};

/// @}
XIO_NAMESPACE_END
