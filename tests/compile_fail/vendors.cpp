// SPDX-License-Identifier: MIT
// Vendors of which each has one mistake, unless XIO_CORRECTED is defined; see every_message.sh.

#include <xio/vendors/bnxt/traits.hpp>
#include <xio/vendors/ernic/traits.hpp>
#include <xio/vendors/ionic/traits.hpp>
#include <xio/vendors/mlx5/traits.hpp>
#include <xio/vendors/rdma/require_vendor.hpp>
#include <xio/vendors/rxe/traits.hpp>

#ifdef XIO_CORRECTED
#define MISTAKE(...)
using Alone = xio::mlx5::Vendor<>;
#else
#define MISTAKE(...) __VA_ARGS__
struct Alone {};
#endif

using namespace xio;

struct Collapsed : mlx5::Options {
  static constexpr bool collapsed = true;
};
using Mlx5 = mlx5::Vendor<>;
using OneEntry = mlx5::Vendor<Collapsed>;
using Bnxt = bnxt::Vendor<>;
using Ionic = ionic::Vendor<>;
using Ernic = ernic::Vendor;
using Rxe = rxe::Vendor<>;

static_assert(rdma::require_vendor<Mlx5>() && rdma::require_vendor<OneEntry>() && rdma::require_vendor<Bnxt>() &&
              rdma::require_vendor<Ionic>() && rdma::require_vendor<Ernic>() && rdma::require_vendor<Rxe>());

template <int>
struct Wrong;
/// `Base`, but for one member.
#define WRONG(Base, ...)          \
  template <>                     \
  struct Wrong<__LINE__> : Base { \
    MISTAKE(__VA_ARGS__)          \
  };                              \
  static_assert(rdma::require_vendor<Wrong<__LINE__>>(), "")

static_assert(rdma::require_vendor<Alone>());
WRONG(Mlx5, static constexpr int name = 0;);
WRONG(Mlx5, static constexpr int power_of_two = 0;);
WRONG(Mlx5, static constexpr int wraps = 0;);
WRONG(Mlx5, static constexpr int counts_operations = 0;);
WRONG(Mlx5, static constexpr int has_flush_completions = 0;);
WRONG(Mlx5, static constexpr int has_nop = 0;);
WRONG(Mlx5, static constexpr int has_inline = 0;);
WRONG(Mlx5, static constexpr int has_local_invalidate = 0;);
WRONG(Mlx5, static constexpr int fence_after_memory_operation = 0;);
WRONG(Mlx5, static constexpr int doorbell_repeats_entry = 0;);
WRONG(Mlx5, static constexpr int has_send_record = 0;);
WRONG(Mlx5, static constexpr int has_send_doorbell = 0;);
WRONG(Mlx5, static constexpr int doorbell_is_served = 0;);
WRONG(Mlx5, static constexpr int has_receive_record = 0;);
WRONG(Mlx5, static constexpr int has_receive_doorbell = 0;);
WRONG(Mlx5, static constexpr int has_cq_record = 0;);
WRONG(Mlx5, static constexpr int has_cq_doorbell = 0;);
WRONG(Mlx5, static constexpr int has_collapsed_cq = 0;);
WRONG(Mlx5, static constexpr int has_side_table = 0;);
WRONG(Mlx5, static constexpr bool doorbell_stride = false;);
WRONG(Mlx5, static uint64_t unit_shift(const rdma::SendShape&););
WRONG(Mlx5, struct Send : Mlx5::Send { static void units(); };);
WRONG(Mlx5, struct Send : Mlx5::Send { static bool check(rdma::SendShape, rdma::Work, rdma::OneSge); };);
WRONG(Mlx5, struct Send : Mlx5::Send { static void encode(); };);
WRONG(Mlx5, struct Receive : Mlx5::Receive { static void check(); };);
WRONG(Mlx5, struct Receive : Mlx5::Receive { static int encode(); };);
WRONG(Mlx5, static uint64_t progress(rdma::SendShape, rdma::Progress, rdma::WorkCompletion, int););
WRONG(Mlx5, struct Completions : Mlx5::Completions { static constexpr int by_index = 0; };);
WRONG(Mlx5, struct Completions : Mlx5::Completions { static constexpr uint64_t entry_bytes = 64; };);
WRONG(Mlx5, struct Completions : Mlx5::Completions { static constexpr int word_offset = 56; };);
WRONG(Mlx5, struct Completions : Mlx5::Completions { static void is_new(); };);
WRONG(Mlx5, struct Completions : Mlx5::Completions { static void decode(); };);
WRONG(Mlx5, struct Completions : Mlx5::Completions { static void decode_success(); };);
WRONG(Mlx5, struct Completions : Mlx5::Completions { static void is_about(); };);
WRONG(Ernic, static uint64_t available(uint32_t, uint64_t, uint32_t););
WRONG(Rxe, static constexpr bool has_send_record = false; static constexpr bool has_send_doorbell = false;);
WRONG(Rxe, static constexpr bool has_receive_record = false;);
WRONG(Rxe, static constexpr bool has_cq_record = false;);
WRONG(Mlx5, static uint64_t send_record(rdma::SendShape, uint64_t););
WRONG(Mlx5, using Doorbell = uint16_t;);
WRONG(Mlx5, static uint64_t receive_record(rdma::ReceiveShape, uint64_t););
WRONG(Mlx5, static void cq_record(););
WRONG(Bnxt, static uint32_t receive_doorbell(rdma::ReceiveShape, uint64_t););
WRONG(Bnxt, using CqDoorbell = void;);
WRONG(
    OneEntry, struct Collapsed : OneEntry::Collapsed {
      struct Ring : OneEntry::Collapsed::Ring {
        static void is_about();
      };
    };);
WRONG(OneEntry, struct Collapsed : OneEntry::Collapsed { static void look(); };);
WRONG(OneEntry, struct Collapsed : OneEntry::Collapsed { static int is_new(uint64_t, rdma::Progress, uint64_t); };);
WRONG(OneEntry, struct Collapsed : OneEntry::Collapsed { static void decode(); };);
WRONG(OneEntry, struct Collapsed : OneEntry::Collapsed { static void decode_success(); };);
WRONG(Bnxt, static void doorbell_index(););
WRONG(Bnxt, struct Table : Bnxt::Table { static constexpr int entry_words = 1; };);
WRONG(Bnxt, struct Table : Bnxt::Table { static void packets(); };);
WRONG(Bnxt, struct Table : Bnxt::Table { static void next_psn(); };);
WRONG(Bnxt, struct Table : Bnxt::Table { static void index(); };);
WRONG(Bnxt, struct Table : Bnxt::Table { static void word(); };);
