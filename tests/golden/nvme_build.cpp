// SPDX-License-Identifier: MIT
// From a request to a command: every field goes through the library's named encoders and setters.

#include <xio/vendors/nvme/encode_admin.hpp>
#include <xio/vendors/nvme/encode_more.hpp>

#include "nvme.hpp"

namespace golden::nvme {

namespace lib = xio::nvme;

namespace {

uint32_t low(uint64_t value) { return static_cast<uint32_t>(value); }

uint64_t join(uint32_t high, uint32_t low) { return uint64_t{high} << 32 | low; }

/// The `width` bits of a recorded word that start at bit `from`.
uint32_t part(uint32_t word, uint32_t from, uint32_t width) { return word >> from & ((1u << width) - 1); }

uint64_t lba_of(const Request& request) {
  return request.get({"slba", "zslba", "sdlba", "lba"}, join(request.recorded.cdw11, request.recorded.cdw10));
}

uint32_t blocks_of(const Request& request) {
  if (const auto blocks = request.stated({"nlb", "lba_count", "blocks"})) return low(*blocks);
  return low(request.get({"nlb_zero_based"}, request.recorded.cdw12 & 0xffff)) + 1;
}

/// Bits 31:16 of command dword 12, one setter for each.
lib::Command with_control(lib::Command command, uint32_t control) {
  if (control & 0x8000) command = command.limited_retry();
  if (control & 0x4000) command = command.force_unit_access();
  if (control & 0x2000) command = command.protection_action();
  if (control & 0x1000) command = command.protection_check(lib::cdw12::check_guard);
  if (control & 0x0800) command = command.protection_check(lib::cdw12::check_application_tag);
  if (control & 0x0400) command = command.protection_check(lib::cdw12::check_reference_tag);
  if (control & 0x0200) {
    const bool append = command.opcode() == static_cast<uint8_t>(lib::Opcode::zone_append);
    command = append ? command.remap_reference_tag() : command.deallocate();
  }
  if (control & 0x0100) command = command.storage_tag_check();
  return command;
}

lib::Command with_tags(const Request& request, lib::Command command) {
  const RecordedWords& words = request.recorded;
  const uint32_t reference = low(request.get({"reftag", "ilbrt", "eilbrt"}, words.cdw14));
  const uint32_t tag = low(request.get({"apptag", "lbat"}, words.cdw15 & 0xffff));
  const uint32_t mask = low(request.get({"appmask", "lbatm"}, words.cdw15 >> 16));
  return command.reference_tag(reference).application_tag(tag, mask);
}

lib::Command block_command(const Request& request, lib::Command command) {
  const RecordedWords& words = request.recorded;
  const uint32_t io_flags = low(request.get({"io_flags"}, words.cdw12 & 0xffff0000u));
  const uint32_t control = low(request.get_flags({"control"}, io_flags >> 16));
  command = with_tags(request, with_control(command, control));

  const uint32_t type = low(request.get_flags({"dtype"}, part(words.cdw12, 20, 4)));
  const uint32_t specific = low(request.get({"dspec"}, words.cdw13 >> 16));
  if (type != 0 || specific != 0 || part(control, 4, 4) != 0) {
    command = command.directive(type != 0 ? type : part(control, 4, 4), specific);
  }
  if (const uint64_t hints = request.get_flags({"dsm"}, words.cdw13 & 0xff)) command = command.hints(low(hints));
  if (words.cdw2 != 0) command = command.dword(2, words.cdw2);
  if (words.cdw3 != 0) command = command.dword(3, words.cdw3);
  if (words.mptr != 0) command = command.metadata(words.mptr);
  if (io_flags & 1) command = command.fused_first();
  if (io_flags & 2) command = command.fused_second();
  return command;
}

lib::Command copy_command(const Request& request) {
  const RecordedWords& words = request.recorded;
  const uint32_t ranges = low(request.get({"nr", "nr_ranges"}, part(words.cdw12, 0, 8) + 1));
  lib::Command command = lib::copy(lba_of(request), ranges, low(request.get({"format"}, part(words.cdw12, 8, 4))));
  command = with_control(command, words.cdw12 >> 16 & 0xfd00);
  command = command.flags(part(words.cdw12, 12, 4) << 12);  // Protection information of what is read.
  const uint32_t type = part(words.cdw12, 20, 4);
  if (type != 0 || words.cdw13 != 0) command = command.directive(type, words.cdw13 >> 16);
  return with_tags(request, command);
}

lib::Command zone_send(const Request& request) {
  const RecordedWords& words = request.recorded;
  lib::ZoneSendRequest zone;
  zone.action = static_cast<lib::ZoneSendAction>(request.get_flags({"zsa", "action"}, words.cdw13 & 0xff));
  zone.zone_lba = lba_of(request);
  zone.all_zones = request.get({"select_all"}, part(words.cdw13, 8, 1)) != 0;
  zone.option = request.get({"zsaso"}, part(words.cdw13, 9, 1)) != 0;
  return lib::zone_management_send(zone);
}

lib::Command zone_receive(const Request& request) {
  const RecordedWords& words = request.recorded;
  lib::ZoneReceiveRequest zone;
  zone.action = static_cast<lib::ZoneReceiveAction>(request.get_flags({"zra"}, words.cdw13 & 0xff));
  zone.zone_lba = lba_of(request);
  zone.bytes = low(request.get({"data_len", "payload_size"}, (uint64_t{words.cdw12} + 1) * 4));
  zone.state = low(request.get({"zrasf"}, part(words.cdw13, 8, 8)));
  zone.partial = request.get({"partial"}, part(words.cdw13, 16, 1)) != 0;
  return lib::zone_management_receive(zone);
}

lib::Command build_io(const Request& request) {
  const RecordedWords& words = request.recorded;
  const uint64_t lba = lba_of(request);
  const uint32_t blocks = blocks_of(request);
  const bool ignore_key = part(words.cdw10, 3, 1) != 0;
  switch (static_cast<lib::Opcode>(request.opcode)) {
    case lib::Opcode::flush: return lib::flush();
    case lib::Opcode::write: return block_command(request, lib::write(lba, blocks));
    case lib::Opcode::read: return block_command(request, lib::read(lba, blocks));
    case lib::Opcode::write_uncorrectable: return block_command(request, lib::write_uncorrectable(lba, blocks));
    case lib::Opcode::compare: return block_command(request, lib::compare(lba, blocks));
    case lib::Opcode::write_zeroes: return block_command(request, lib::write_zeroes(lba, blocks));
    case lib::Opcode::verify: return block_command(request, lib::verify(lba, blocks));
    case lib::Opcode::zone_append: return block_command(request, lib::zone_append(lba, blocks));
    case lib::Opcode::dataset_management: {
      const auto listed = list_or_empty(request.params, "ranges").size();
      const uint64_t unstated = listed != 0 ? listed : part(words.cdw10, 0, 8) + 1u;
      return lib::dataset_management(low(request.get({"nr_ranges", "nr"}, unstated)),
                                     low(request.get_flags({"type_bits", "attrs"}, words.cdw11)));
    }
    case lib::Opcode::copy: return copy_command(request);
    case lib::Opcode::zone_management_send: return zone_send(request);
    case lib::Opcode::zone_management_receive: return zone_receive(request);
    case lib::Opcode::reservation_register:
      return lib::reservation_register(part(words.cdw10, 0, 3), ignore_key, words.cdw10 >> 30);
    case lib::Opcode::reservation_acquire:
      return lib::reservation_acquire(part(words.cdw10, 0, 3), part(words.cdw10, 8, 8), ignore_key);
    case lib::Opcode::reservation_release:
      return lib::reservation_release(part(words.cdw10, 0, 3), part(words.cdw10, 8, 8), ignore_key);
    case lib::Opcode::reservation_report: return lib::reservation_report((words.cdw10 + 1) * 4, words.cdw11 & 1);
    case lib::Opcode::io_management_receive:
      return lib::io_management_receive(part(words.cdw10, 0, 8), words.cdw10 >> 16, (words.cdw11 + 1) * 4);
    case lib::Opcode::io_management_send: return lib::io_management_send(part(words.cdw10, 0, 8), words.cdw10 >> 16);
  }
  throw Skipped{"operation_not_offered"};
}

/// Element `index` of the recorded driver call's arguments, where there are any.
uint64_t argument(const Request& request, size_t index, uint64_t unstated) {
  const Json& arguments = list_or_empty(request.params, "args");
  return index < arguments.size() ? number(arguments[index]) : unstated;
}

lib::Command build_features(const Request& request) {
  const RecordedWords& words = request.recorded;
  if (request.command.rfind("set_num_queues", 0) == 0 && request.params.contains("args")) {
    const uint32_t queues = low(argument(request, 0, 0));
    return lib::set_number_of_queues(queues, queues);
  }
  const auto feature = static_cast<lib::FeatureId>(request.get({"fid"}, words.cdw10 & 0xff));
  lib::Command command;
  if (request.opcode == static_cast<uint8_t>(lib::AdminOpcode::get_features)) {
    const uint64_t select = request.get({"sel"}, part(words.cdw10, 8, 3));
    command = lib::get_features(feature, static_cast<lib::FeatureSelect>(select)).dword(11, words.cdw11);
  } else {
    const bool save = request.get({"save"}, words.cdw10 >> 31) != 0;
    command = lib::set_features(feature, low(request.get({"value", "cdw11"}, words.cdw11)), save);
  }
  return command.dword(12, words.cdw12).dword(13, words.cdw13).dword(14, words.cdw14).dword(15, words.cdw15);
}

lib::Command build_identify(const Request& request) {
  const RecordedWords& words = request.recorded;
  lib::IdentifyRequest identify;
  identify.cns = static_cast<lib::Cns>(request.get({"cns"}, argument(request, 0, words.cdw10 & 0xff)));
  identify.cntid = low(request.get({"cntid"}, argument(request, 1, words.cdw10 >> 16)));
  identify.nsid = low(request.get({"nsid"}, argument(request, 2, words.nsid)));
  identify.command_set = static_cast<lib::CommandSet>(request.get({"csi"}, words.cdw11 >> 24));
  identify.specific = low(request.get({"cns_specific_id"}, words.cdw11 & 0xffff));
  identify.uuid_index = low(request.get({"uuidx"}, words.cdw14 & 0x7f));
  return lib::identify(identify);
}

lib::Command build_log_page(const Request& request) {
  const RecordedWords& words = request.recorded;
  lib::LogPageRequest page;
  page.log = static_cast<lib::LogId>(request.get({"lid"}, words.cdw10 & 0xff));
  page.bytes = low(request.get({"len", "data_len"}, (join(0, words.cdw11 << 16 | words.cdw10 >> 16) + 1) * 4));
  page.offset = request.get({"lpo", "offset"}, join(words.cdw13, words.cdw12));
  page.nsid = words.nsid;
  page.specific = low(request.get({"lsp"}, part(words.cdw10, 8, 7)));
  page.specific_identifier = low(request.get({"lsi"}, words.cdw11 >> 16));
  page.retain_event = request.get({"rae"}, part(words.cdw10, 15, 1)) != 0;
  page.index_offset = request.get({"ot"}, part(words.cdw14, 23, 1)) != 0;
  page.command_set = static_cast<lib::CommandSet>(request.get({"csi"}, words.cdw14 >> 24));
  page.uuid_index = low(request.get({"uuidx"}, words.cdw14 & 0x7f));
  return lib::get_log_page(page);
}

lib::Command build_admin(const Request& request, bool& names_namespace) {
  const RecordedWords& words = request.recorded;
  const uint32_t qid = low(request.get({"qid"}, words.cdw10 & 0xffff));
  const uint32_t entries = low(request.get({"entries"}, (words.cdw10 >> 16) + 1));
  names_namespace = true;
  switch (static_cast<lib::AdminOpcode>(request.opcode)) {
    case lib::AdminOpcode::delete_io_sq: return lib::delete_io_sq(qid);
    case lib::AdminOpcode::delete_io_cq: return lib::delete_io_cq(qid);
    case lib::AdminOpcode::create_io_sq: {
      lib::SubmissionQueueRequest queue;
      queue.qid = qid;
      queue.entries = entries;
      queue.cqid = low(request.get({"cqid"}, words.cdw11 >> 16));
      queue.contiguous = words.cdw11 & 1;
      queue.priority = low(request.get({"qprio"}, part(words.cdw11, 1, 2)));
      queue.nvm_set = words.cdw12;
      return lib::create_io_sq(queue);
    }
    case lib::AdminOpcode::create_io_cq: {
      lib::CompletionQueueRequest queue;
      queue.qid = qid;
      queue.entries = entries;
      queue.contiguous = words.cdw11 & 1;
      queue.interrupts = request.get({"ien"}, part(words.cdw11, 1, 1)) != 0;
      queue.vector = low(request.get({"iv"}, words.cdw11 >> 16));
      return lib::create_io_cq(queue);
    }
    case lib::AdminOpcode::identify: names_namespace = false; return build_identify(request);
    case lib::AdminOpcode::get_log_page: return build_log_page(request);
    case lib::AdminOpcode::set_features:
    case lib::AdminOpcode::get_features: return build_features(request);
    case lib::AdminOpcode::abort: return lib::abort(words.cdw10 & 0xffff, words.cdw10 >> 16);
    case lib::AdminOpcode::async_event_request: return lib::async_event_request();
    case lib::AdminOpcode::keep_alive: return lib::keep_alive();
    case lib::AdminOpcode::doorbell_buffer_config: return lib::doorbell_buffer_config();
    default: throw Skipped{"operation_not_offered"};
  }
}

}  // namespace

lib::Command build(const Request& request) {
  if (!request.admin) return build_io(request).nsid(low(request.get({"nsid"}, request.recorded.nsid)));
  bool names_namespace = true;
  const lib::Command command = build_admin(request, names_namespace);
  return names_namespace ? command.nsid(low(request.get({"nsid"}, request.recorded.nsid))) : command;
}

uint64_t data_bytes(const lib::Command& command, bool admin, uint64_t block_bytes) {
  if (admin) {
    switch (static_cast<lib::AdminOpcode>(command.opcode())) {
      case lib::AdminOpcode::identify: return 4096;
      case lib::AdminOpcode::get_log_page:
        return ((uint64_t{command.cdw11 & 0xffff} << 16 | command.cdw10 >> 16) + 1) * 4;
      case lib::AdminOpcode::set_features:
      case lib::AdminOpcode::get_features: return 4096;
      default: return 0;
    }
  }
  // Bits 1:0 of an opcode say whether data moves at all.
  if ((command.opcode() & 3) == 0) return 0;
  switch (static_cast<lib::Opcode>(command.opcode())) {
    case lib::Opcode::dataset_management: return 16 * (uint64_t{part(command.cdw10, 0, 8)} + 1);
    case lib::Opcode::copy: return 32 * (uint64_t{part(command.cdw12, 0, 8)} + 1);
    case lib::Opcode::zone_management_receive: return 4 * (uint64_t{command.cdw12} + 1);
    case lib::Opcode::reservation_report: return 4 * (uint64_t{command.cdw10} + 1);
    case lib::Opcode::io_management_receive: return 4 * (uint64_t{command.cdw11} + 1);
    case lib::Opcode::reservation_register:
    case lib::Opcode::reservation_acquire: return 16;
    case lib::Opcode::reservation_release: return 8;
    case lib::Opcode::zone_management_send:
    case lib::Opcode::io_management_send: return 0;
    default: return command.blocks() * block_bytes;
  }
}

}  // namespace golden::nvme
