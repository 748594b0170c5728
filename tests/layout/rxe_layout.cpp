// SPDX-License-Identifier: MIT
// Soft-RoCE: what no header of the system says. Offsets and numbers are compared in rdma_parity.

#include <cstring>
#include <string>

#include <xio/vendors/rxe/layout.hpp>
#include <xio/vendors/rxe/status.hpp>

#include "catch.hpp"

namespace rxe = xio::rxe;
using xio::Be32;
using xio::Status;

// In C, the pointers follow the 24 bytes of the state: entry 208, receive 40. H35: in C++ the UAPI's list is 8 bytes
// off.
static_assert(XIO_OFFSETOF(rxe::SendWqe, dma) + sizeof(rxe::DmaState) == 208 && sizeof(rxe::SendWqe) == 208);
static_assert(XIO_OFFSETOF(rxe::ReceiveWqe, dma) + sizeof(rxe::DmaState) == 40 && sizeof(rxe::ReceiveWqe) == 40);

TEST_CASE("H35 pointers follow an entry at once") {
  struct {
    rxe::SendWqe wqe;
    rxe::Sge sges[2];
  } entry{};
  const auto* const bytes = reinterpret_cast<const uint8_t*>(&entry);
  entry.wqe.header.immediate = Be32(0x11223344u);
  entry.sges[0].lkey = 0x01020304;
  CHECK((bytes[20] == 0x11 && bytes[23] == 0x44));
  uint32_t lkey = 0;
  std::memcpy(&lkey, bytes + 208 + 12, sizeof lkey);
  CHECK(lkey == 0x01020304);
}

TEST_CASE("the statuses of the verbs mean the same to the caller") {
  for (uint32_t value = 0; value < 40; ++value) {
    INFO("status " << value);
    const auto status = static_cast<rxe::CqeStatus>(value);
    CHECK(rxe::to_status(status).is_ok() == (value == 0));
    CHECK(rxe::to_status(status).vendor == value);
    CHECK((std::string(rxe::name(status)) == "unknown status") == (value > 21));
  }
  CHECK(rxe::to_status(rxe::CqeStatus::remote_access) == Status::access_denied);
  CHECK(rxe::to_status(rxe::CqeStatus::flushed) == Status::flushed);
  CHECK(rxe::to_status(rxe::CqeStatus::transport_retry_exceeded) == Status::retry_exceeded);
  CHECK(rxe::to_status(rxe::CqeStatus::local_protection) == Status::bad_address);
  CHECK(std::string(rxe::name(rxe::CqeOpcode::local_invalidate)) == "local invalidate");
}
