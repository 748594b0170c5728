// SPDX-License-Identifier: MIT

/// @file
/// @brief A program's own types in the library's namespaces, declared before its headers, named as the detectors of
/// require_vendor().

#include <xio/config.hpp>

XIO_NAMESPACE_BEGIN

namespace rdma {
struct Name {};
struct PowerOfTwo {};
struct Wraps {};
struct CountsOperations {};
struct HasFlushCompletions {};
struct HasNop {};
struct FenceAfterMemoryOperation {};
struct DoorbellRepeatsEntry {};
struct HasSendRecord {};
struct HasSendDoorbell {};
struct DoorbellIsServed {};
struct HasReceiveRecord {};
struct HasReceiveDoorbell {};
struct HasCqRecord {};
struct HasCqDoorbell {};
struct HasCollapsedCq {};
struct HasSideTable {};
struct DoorbellStride {};
struct UnitShift {};
struct Units {};
struct Check {};
struct Encode {};
struct CheckReceive {};
struct EncodeReceive {};
struct GetProgress {};
struct ByIndex {};
struct EntryBytes {};
struct WordOffset {};
struct IsNew {};
struct Decode {};
struct DecodeSuccess {};
struct IsAbout {};
struct Available {};
struct SendRecord {};
struct ReceiveRecord {};
struct CqRecord {};
struct SendDoorbell {};
struct ReceiveDoorbell {};
struct CqDoorbell {};
struct CollapsedIsAbout {};
struct CollapsedLook {};
struct CollapsedIsNew {};
struct CollapsedDecode {};
struct CollapsedSuccess {};
struct DoorbellIndex {};
struct TableWords {};
struct TablePackets {};
struct TableNextPsn {};
struct TableIndex {};
struct TableWord {};
}  // namespace rdma

XIO_NAMESPACE_END

#include <xio/rdma.hpp>
#include <xio/vendors/bnxt/traits.hpp>

static_assert(xio::rdma::require_vendor<xio::bnxt::Vendor<>>(), "");
