// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief Compile-time properties of a queue type: sharing, ringing, publication of entries, checks.

#include <xio/device/arch/arch.hpp>

XIO_NAMESPACE_BEGIN
/// @addtogroup kernel_queue
/// @{

/// Concurrent users of one queue pair. All of them name the same one, and ring by the same policy and doorbell: where a
/// shared NVMe or receive queue is used otherwise, waits return Status::broken (docs/internals/memory-model.md, Users
/// of one queue).
///
/// Lanes that make a call together are a group, with one claim, one release and one doorbell for all of them:
///
/// | Sharing       | per-lane calls (submit, wait, test, …)   | submit_batch, transfer, wait_batch |
/// |---------------|------------------------------------------|------------------------------------|
/// | `thread`      | the caller                               | the caller                         |
/// | `wave`        | all lanes of the wave                    | all lanes of the wave              |
/// | `block, grid` | the lanes that call at the same time     | all lanes of the wave              |
///
/// *All lanes* are those of the wave that have not ended, or those that the queue object's constructor names. All of
/// them make the call: for a lane that does not, the others wait without end on an NVIDIA GPU, beyond every deadline,
/// and the CPU reports it. An AMD GPU executes lanes in lockstep and takes those that call at the same time, so that it
/// does not notice. A lane that returned early has ended; one that took another branch, or left a loop, has not: name
/// those that call. Lanes that use different queues are groups of their own, one after the other.
///
/// Groups that use the queue of their wave in turn have a lane in common, as all lanes and a part of them have, or meet
/// in between (`__syncwarp()`): a call of the second may begin before that of the first has ended otherwise.
enum class Sharing {
  thread,  ///< one thread; other threads of the wave may use other queues
  wave,    ///< one wave
  block,   ///< all waves of one workgroup
  grid     ///< all waves of the GPU
};

template <Sharing S>
constexpr bool is_shared = S == Sharing::block || S == Sharing::grid;

/// Scope at which the queue's state words are coherent.
template <Sharing S>
constexpr arch::Scope state_scope = S == Sharing::block ? arch::Scope::workgroup : arch::Scope::agent;

/// When published entries are announced to the device.
enum class Ringing {
  immediate,  ///< immediately; entries published during a doorbell store share the next one
  deferred    ///< when `ring_every` entries are pending, on ring(), and before any wait of the library
};

/// How entries become visible to the device.
enum class Publication {
  release,       ///< plain stores; one cache write-back before the doorbell covers them and the caller's payload
  write_through  ///< stores through the caches, no write-back: what the caller stored in buffers needs
                 ///< publish_payload(), before writes, and before reads into them
};

/// Location of a queue's rings or data.
enum class Memory { host, device };

/// Policy of a queue, composed of tags: `Policy<Deferred<16>, WriteThrough>`. Another policy may come first as the
/// base: `Policy<Unchecked, Notify>`. `Policy<>` holds the defaults: everything is checked. For further changes, derive
/// from a policy and hide a member.
/// @snippet options.cpp Policy
template <class... Parts>
struct Policy;

/// The default policy: rings immediately, checks everything, no notifications.
template <>
struct Policy<> {
  static constexpr Ringing ringing = Ringing::immediate;
  static constexpr Publication publication = Publication::release;
  static constexpr bool argument_checks = true;    ///< validate and split commands before submission
  static constexpr bool slot_checks = true;        ///< do not reuse a command identifier still in flight
  static constexpr bool completion_checks = true;  ///< a completion of another queue pair breaks the queue (RDMA)
  static constexpr bool notifications = false;     ///< submissions may name a Notification
  static constexpr bool narrow_slots = false;      ///< queue memory supports accesses of at most 8 bytes
  static constexpr bool inbound_in_order = true;   ///< data is visible with its completion; else waits flush inbound
  static constexpr bool in_gpu_memory = false;     ///< rings, records and data lie in the memory of the kernel's GPU
  static constexpr bool in_host_memory = false;    ///< completions or data are said to lie in host memory
  static constexpr bool key_values = false;        ///< of a namespace that stores values under keys: nvme::kv::Queue
  static constexpr bool keeps_receives = true;     ///< a receive is not posted over an unread result
  static constexpr uint32_t ring_every = 16;       ///< with Ringing::deferred: maximum number of unannounced entries
  static constexpr uint32_t most_doorbells = 8;    ///< doorbells of one call; then others may take over
};

/// Policy<> without argument checks: the caller guarantees valid arguments; nothing is refused or split.
struct Trusting : Policy<> {
  static constexpr bool argument_checks = false;
};

/// Trusting without slot and completion checks: the caller also guarantees that no operation stays in flight while the
/// ring wraps once, and that a completion queue holds completions of its own queue pair only.
struct Unchecked : Trusting {
  static constexpr bool slot_checks = false;
  static constexpr bool completion_checks = false;
};

namespace detail {

/// Property that a tag sets; a policy has at most one tag per property.
enum class TagKind { ringing, publication, notifications, slots, receives, placement, doorbell, gpu_memory };

template <class T, class = void>
constexpr bool is_tag = false;
template <class T>
constexpr bool is_tag<T, decltype(void(T::tag_kind))> = true;
template <class T, class = void>
constexpr bool is_policy = false;
template <class T>
constexpr bool is_policy<T, decltype(void(T::ringing))> = true;

template <class A, class B, bool Tags = is_tag<A> && is_tag<B>>
constexpr bool decide_the_same = false;
template <class A, class B>
constexpr bool decide_the_same<A, B, true> = A::tag_kind == B::tag_kind;

/// `Base` with the changes of the tags; types that are not tags are ignored.
template <class Base, class... Tags>
struct Tagged {
  using type = Base;
};
template <class Base, class Tag, bool Is = is_tag<Tag>>
struct TaggedOnce {
  using type = typename Tag::template Over<Base>;
};
template <class Base, class Other>
struct TaggedOnce<Base, Other, false> {
  using type = Base;
};
template <class Base, class Tag, class... Rest>
struct Tagged<Base, Tag, Rest...> : Tagged<typename TaggedOnce<Base, Tag>::type, Rest...> {};

template <class... Tags>
struct CheckTags {};
template <class Tag, class... Rest>
struct CheckTags<Tag, Rest...> : CheckTags<Rest...> {
  static_assert(!is_policy<Tag>, "Policy<...>: a whole policy (Unchecked, another Policy) must come first");
  static_assert(is_tag<Tag> || is_policy<Tag>,
                "Policy<...>: unknown tag; valid tags are Deferred<N>, WriteThrough, Notify, NarrowSlots, Unasked, "
                "Placed<completions, data>, InGpuMemory and RingBy<doorbell>");
  static_assert(!(IsSame<Tag, Rest>::value || ...), "Policy<...>: duplicate tag");
  static_assert(!((!IsSame<Tag, Rest>::value && decide_the_same<Tag, Rest>) || ...),
                "Policy<...>: two tags contradict each other; of RingBy a policy has one, for all drives of a set");
};

template <bool FirstIsWhole, class First, class... Tags>
struct Assemble : CheckTags<First, Tags...>, Tagged<Policy<>, First, Tags...> {};
template <class First, class... Tags>
struct Assemble<true, First, Tags...> : CheckTags<Tags...>, Tagged<First, Tags...> {};

}  // namespace detail

/// A policy with the changes of its tags.
/// @snippet options.cpp derived_policy
template <class First, class... Tags>
struct Policy<First, Tags...> : detail::Assemble<detail::is_policy<First>, First, Tags...>::type {};

/// Tag: announces entries on ring(), every `Entries` entries, and before waits.
/// @snippet nvme.cpp ring
template <uint32_t Entries>
struct Deferred {
  static_assert(Entries >= 1, "Deferred<N>: ring after at least one entry");
  static constexpr detail::TagKind tag_kind = detail::TagKind::ringing;
  template <class Base>
  struct Over : Base {
    static constexpr Ringing ringing = Ringing::deferred;
    static constexpr uint32_t ring_every = Entries;
  };
};

/// Tag: entries are stored through the caches. The ring must lie in uncached or fine-grained memory. Before every
/// submission whose buffer the kernel has stored to, reads included, call publish_payload() (RDMA:
/// arch::release_system()): a store that is left in a cache is written back later, over what the device wrote.
/// @snippet nvme.cpp publish_payload
struct WriteThrough {
  static constexpr detail::TagKind tag_kind = detail::TagKind::publication;
  template <class Base>
  struct Over : Base {
    static constexpr Publication publication = Publication::write_through;
  };
};

/// Tag: submissions may name a Notification that counts their completions, or a KeptResult. All users of a queue that
/// take completions use this tag if one submits so: for others such a completion breaks the queue.
/// @snippet options.cpp notify
struct Notify {
  static constexpr detail::TagKind tag_kind = detail::TagKind::notifications;
  template <class Base>
  struct Over : Base {
    static constexpr bool notifications = true;
  };
};

/// Tag: the submission ring supports accesses of at most 8 bytes.
struct NarrowSlots {
  static constexpr detail::TagKind tag_kind = detail::TagKind::slots;
  template <class Base>
  struct Over : Base {
    static constexpr bool narrow_slots = true;
  };
};

/// Tag: receives are posted again even if their results were not read, for callers that learn of messages otherwise.
/// Reading a result later returns Status::expired. All users of a receive queue use this tag, or none.
struct Unasked {
  static constexpr detail::TagKind tag_kind = detail::TagKind::receives;
  template <class Base>
  struct Over : Base {
    static constexpr bool keeps_receives = false;
  };
};

/// Tag: location of completions and data. PCIe does not order a completion in host memory after data in device memory,
/// so for that combination every wait flushes inbound writes. Calls that cannot do that do not compile (test(),
/// process_completions(), notifications, receive queues): docs/policies.md.
/// @snippet options.cpp tags
template <Memory Completions, Memory Data>
struct Placed {
  static constexpr detail::TagKind tag_kind = detail::TagKind::placement;
  template <class Base>
  struct Over : Base {
    static constexpr bool inbound_in_order = Completions == Data || Data == Memory::host;
    static constexpr bool in_host_memory = !(Completions == Memory::device && Data == Memory::device);
    static_assert(!(in_host_memory && Base::in_gpu_memory),
                  "Policy<...>: Placed with host memory contradicts InGpuMemory");
  };
};

/// Tag: both rings, their records and lists, and all data lie in the memory of the GPU that runs the kernel. NVIDIA
/// GPUs then release what the kernel has stored at the scope of the GPU, instead of the system's, which takes longer;
/// AMD GPUs and the CPU do as without it.
///
/// Posts are refused with Status::unsupported, and nothing is claimed, if the handle does not say so of its rings and
/// records (QueuePairHandle::gpu_memory and its like, set from the host's own allocations), with every policy; and,
/// under argument checks, if a piece of a Region lies elsewhere (Region::memory). The caller answers for what names no
/// Region: SGEs, page sources, pieces of NVMe batches. Of stores to any other memory, a word that the peer's CPU is to
/// read after a message for example, nothing is promised: call arch::release_system() before the post.
/// @snippet options.cpp in_gpu_memory
struct InGpuMemory {
  static constexpr detail::TagKind tag_kind = detail::TagKind::gpu_memory;
  template <class Base>
  struct Over : Base {
    static constexpr bool in_gpu_memory = true;
    static_assert(!Base::in_host_memory, "Policy<...>: Placed with host memory contradicts InGpuMemory");
  };
};

/// Tag: doorbell back end of an NVMe queue: MmioDoorbell, ShadowDoorbell, or one of the program's own (doorbell.hpp).
/// @snippet options.cpp tags
template <class Kind>
struct RingBy {
  static constexpr detail::TagKind tag_kind = detail::TagKind::doorbell;
  template <class Base>
  struct Over : Base {
    using Doorbell = Kind;
  };
};

/// @}
XIO_NAMESPACE_END
