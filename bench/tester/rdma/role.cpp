// SPDX-License-Identifier: MIT
#include "tester/rdma/role.hpp"

#include <sstream>

#include <xio/host/text.hpp>
#include <xio/version.hpp>

#include "tester/cli/errors.hpp"

namespace tester {

namespace {

bool wants_to_be_alone(const RdmaOptions& o) { return o.loopback_given && !o.server && !o.client; }

void take_role_of(const Launcher& launcher, RdmaOptions& o) {
  if (launcher.size > 2)
    throw BadInput(launcher.name + " has started " + std::to_string(launcher.size) +
                   " processes; rdma-ep is for 2 of them, or for each alone with --loopback or --no-loopback");
  o.role = launcher.rank == 0 ? RdmaRole::server : RdmaRole::client;
  o.launched = true;
}

std::string size_list(const std::vector<uint64_t>& sizes) {
  std::string text;
  for (const uint64_t size : sizes) text += (text.empty() ? "" : ",") + std::to_string(size);
  return text.empty() ? "(default)" : text;
}

const char* word(bool value) { return value ? "given" : "not given"; }

}  // namespace

void resolve_role(RdmaOptions& o, const std::optional<Launcher>& launcher) {
  if (o.server && o.client) throw BadInput("--server and --client exclude each other; give one of them");
  o.role = o.server ? RdmaRole::server : o.client ? RdmaRole::client : RdmaRole::alone;
  const bool launched = launcher && launcher->size > 1;
  if (o.role == RdmaRole::alone && launched && !wants_to_be_alone(o)) take_role_of(*launcher, o);
  if (o.ping_pong && !o.loopback_given) o.loopback = false;
  if (o.role == RdmaRole::alone) {
    if (!o.server_host.empty())
      throw BadInput("--server-host specifies where --client finds the server; give --client too, or omit it");
    if (!o.listen.empty()) throw BadInput("--listen specifies where --server listens; give --server too, or omit it");
    return;
  }
  if (o.loopback_given)
    throw BadInput(std::string(o.loopback ? "--loopback" : "--no-loopback") + " is for one process; omit it with " +
                   (o.role == RdmaRole::server ? "--server" : "--client"));
  if (o.server && !o.server_host.empty())
    throw BadInput("--server-host is for --client; --listen specifies where the server listens");
  if (o.client && !o.listen.empty())
    throw BadInput("--listen is for --server; --server-host specifies where to find it");
  if (o.device == rdma_emulated)
    throw BadInput(
        "--device emulated: emulated NICs are connected only within one process; give both processes a verbs device, "
        "or omit --server and --client and start one process");
  if (o.server_host.empty()) o.server_host = "127.0.0.1";
}

std::string agreement_of(const RdmaOptions& o) {
  std::ostringstream all;
  all << "version " << XIO_VERSION_MAJOR << '.' << XIO_VERSION_MINOR << '.' << XIO_VERSION_PATCH << '\n';
  all << "--op " << name_of(o.verb) << '\n';
  all << "--write-imm " << word(o.write_imm) << '\n';
  all << "--ping-pong " << word(o.ping_pong) << '\n';
  all << "--transfer-size " << size_list(o.transfer_sizes) << '\n';
  all << "--iterations " << o.iterations << '\n';
  all << "--runs " << o.runs << '\n';
  all << "--infinite " << word(o.infinite) << '\n';
  all << "--duration " << std::to_string(o.duration) << '\n';
  all << "--num-queues " << o.num_queues << '\n';
  all << "--batch-size " << o.batch_size << '\n';
  all << "--depth " << o.depth << '\n';
  all << "--sq-depth " << o.sq_depth << '\n';
  all << "--verify " << word(o.verify) << '\n';
  all << "--seed " << o.seed << '\n';
  all << "--lfsr-seed " << (o.lfsr_seed ? std::to_string(*o.lfsr_seed) : word(false)) << '\n';
  return all.str();
}

bool is_agreement(const std::string& text) {
  return text.compare(0, 8, "version ") == 0 && text.find("\n--op ") != std::string::npos;
}

void require_agreement(const std::string& mine, const std::string& theirs) {
  std::istringstream ours(mine);
  std::istringstream others(theirs);
  for (std::string here; std::getline(ours, here);) {
    std::string there;
    std::getline(others, there);
    if (here == there) continue;
    const size_t name = here.find(' ') + 1;
    const bool same_flag = there.compare(0, name, here, 0, name) == 0;
    throw BadInput(here.substr(0, name - 1) + ": " + here.substr(name) + " here, " +
                   (same_flag ? xio::host::printable(there.substr(name)) : "something else") +
                   " on the other side; give both sides the same");
  }
}

const char* name_of(RdmaVerb verb) {
  switch (verb) {
    case RdmaVerb::read: return "read";
    case RdmaVerb::send: return "send";
    case RdmaVerb::fetch_add: return "fetch-add";
    case RdmaVerb::write: break;
  }
  return "write";
}

const char* name_of(RdmaRole role) {
  switch (role) {
    case RdmaRole::server: return "server";
    case RdmaRole::client: return "client";
    case RdmaRole::alone: break;
  }
  return "alone";
}

}  // namespace tester
