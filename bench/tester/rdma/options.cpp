// SPDX-License-Identifier: MIT
#include "tester/rdma/options.hpp"

#include <limits>

#include <xio/device/core/placement.hpp>

#include "tester/cli/errors.hpp"
#include "tester/cli/examples.hpp"
#include "tester/cli/flags.hpp"
#include "tester/rdma/link.hpp"

namespace tester {

namespace {

constexpr uint64_t longest_transfer = uint64_t{1} << 30;

void add_target(CLI::App& app, RdmaOptions& o) {
  const std::string group = "Target";
  std::vector<std::pair<std::string, std::string>> providers;
  for (const std::string& name : rdma_provider_names()) providers.emplace_back(name, name);
  add_choice<std::string>(app, "--provider", o.provider, providers,
                          "whose queue formats are used (default: the device's; mlx5 with emulated)")
      ->group(group);
  app.add_option("--device", o.device,
                 "a verbs device, of soft-RoCE's driver; emulated: a model of a NIC in this process (default; with "
                 "--server or --client the nearest verbs device)")
      ->type_name("NAME")
      ->each([&o](const std::string&) { o.device_given = true; })
      ->group(group);
  const auto connect = [&o](int64_t times) {
    o.loopback = times > 0;
    o.loopback_given = true;
  };
  app.add_flag_function("--loopback,!--no-loopback", connect,
                        "connect each queue pair to itself (default), or to a second one")
      ->group(group);
  app.add_flag("--server", o.server, "receive from another process, which is started with --client and the same flags")
      ->group(group);
  app.add_flag("--client", o.client, "send to the process that is started with --server")->group(group);
  app.add_option("--server-host", o.server_host, "where the client finds the server (default 127.0.0.1)")
      ->type_name("HOST")
      ->group(group);
  app.add_option_function<std::string>(
         "--listen", [&o](const std::string& address) { o.listen = {address}; },
         "address that the server listens on (default: the device's, and 127.0.0.1); 0.0.0.0: all of this machine's")
      ->type_name("ADDRESS")
      ->group(group);
  add_number(app, "--port", o.port, 1, 65535, "TCP port by which they find each other (default 18520)")->group(group);
  add_number(app, "--connect-deadline", o.connect_ms, 1, 86400000,
             "milliseconds to wait for the other process (default 30000)")
      ->group(group);
}

void add_work(CLI::App& app, RdmaOptions& o) {
  const std::string group = "Workload";
  add_choice<RdmaVerb>(app, "--op", o.verb,
                       {{"write", RdmaVerb::write},
                        {"read", RdmaVerb::read},
                        {"send", RdmaVerb::send},
                        {"fetch-add", RdmaVerb::fetch_add}},
                       "operation (default write)")
      ->group(group);
  app.add_flag("--write-imm", o.write_imm, "writes carry 32 bits of immediate data, and the receiver completes")
      ->group(group);
  app.add_flag("--ping-pong", o.ping_pong,
               "the two sides write in turn, each polls its memory for the other's write, and the latency is half of a "
               "round trip, as in perftest's ib_write_lat")
      ->group(group);
  const auto parse_sizes = [&o](const std::string& text) {
    for (const std::string& one : split_list("--transfer-size", text)) {
      const auto value = xio::host::parse_bytes(one);
      if (!value || *value > longest_transfer)
        throw CLI::ValidationError("--transfer-size", one + " is not accepted; bytes from 0 to " +
                                                          std::to_string(longest_transfer) +
                                                          ", or a comma-separated list of them, are");
      o.transfer_sizes.push_back(*value);
    }
  };
  app.add_option_function<std::string>("--transfer-size", parse_sizes,
                                       "bytes of one operation, or a list of them (default 256,1K,4K,64K,1M)")
      ->type_name("N,...")
      ->group(group);
  add_number(app, "--iterations", o.iterations, 1, any_number,
             "operations with each transfer size, over all queue pairs together (default 1000)")
      ->group(group);
  add_number(app, "--runs", o.runs, 1, 1000,
             "repetitions, each with another seed; rates are given over the runs (default 1)")
      ->group(group);
  app.add_flag("--infinite", o.infinite, "repeat the last transfer size until Ctrl-C")->group(group);
  add_seconds(app, "--duration", o.duration, "repeat each transfer size for this many seconds")->group(group);
}

void add_queues(CLI::App& app, RdmaOptions& o) {
  const std::string group = "Queues";
  add_number(app, "--num-queues", o.num_queues, 1, 256, "queue pairs, all at work at the same time (default 1)")
      ->group(group);
  add_number(app, "--batch-size", o.batch_size, 0, rdma_most_depth,
             "entries for one doorbell and one completion (default 1); 0: as many as fit; at most the "
             "depth")
      ->group(group);
  add_number(app, "--depth", o.depth, 1, rdma_most_depth,
             "operations in flight on a queue pair, at most --sq-depth (default: 1 with batch size 1, --sq-depth with "
             "0, else twice the batch size)")
      ->group(group);
  add_number(app, "--sq-depth", o.sq_depth, 1, rdma_most_depth,
             "operations that a send queue holds (default 128, or what --depth and --batch-size need)")
      ->group(group);
  add_number(app, "--cq-depth", o.cq_depth, 2, 65536,
             "entries of a completion queue (default: twice the send ring); rings are powers of two")
      ->group(group);
  add_number(app, "--inline-threshold", o.inline_threshold, 0, 65536,
             "writes and sends of at most this many bytes carry their data in the entry (default 0: none)")
      ->group(group);
  add_choice<bool>(app, "--queue-mem", o.vram, {{"host", false}, {"vram", true}},
                   "where queues are placed (default host); vram without a GPU is host memory")
      ->group(group);
  add_number(app, "--memory-mode", o.memory_mode, 0, 15,
             "in GPU memory: sum of 1 SQ, 2 CQ, 4 doorbell record, 8 data (default 0); 8 is offered, and "
             "needs a GPU")
      ->group(group);
}

void add_rest(CLI::App& app, RdmaOptions& o) {
  const std::string data = "Data";
  app.add_flag("--verify", o.verify, "build the data of every operation, and compare what arrived")->group(data);
  add_number(app, "--seed", o.seed, 0, any_number, "seed of the data of the first run (default 1)")->group(data);
  add_lfsr_seed(app, "--lfsr-seed", o.lfsr_seed,
                "data of a 32-bit LFSR that starts from this seed and the operation's number")
      ->group(data);
  const std::string execution = "Execution";
  add_executor(app, o.executor, o.gpu_number, execution);
  add_number(app, "--waves", o.waves, 1, 64, "waves that share a queue pair (default 1)")->group(execution);
  add_choice<uint32_t>(app, "--wave-size", o.wave_size, {{"1", 1}, {"8", 8}, {"32", 32}, {"64", 64}},
                       "lanes of a wave (default 1); on a GPU 1, or as many as its waves have")
      ->group(execution);
  add_number(app, "--deadline", o.deadline_ms, 1, 3600000, "milliseconds that one operation may take (default 30000)")
      ->group(execution);
  const std::string report = "Report";
  app.add_flag("--less-timing", o.less_timing, "read the clock for each batch instead of for each operation")
      ->group(report);
  app.add_flag("--substep-timing", o.substep_timing, "time posts, doorbells and polls; only on the CPU")->group(report);
  app.add_flag("--histogram", o.histogram, "print the distribution of the latencies")->group(report);
  add_json(app, o.json)->group(report);
  app.add_flag("--progress", o.progress, "a progress line on standard error even where that is no terminal")
      ->group(report);
}

}  // namespace

CLI::App* add_rdma_command(CLI::App& app, RdmaOptions& options) {
  CLI::App* const command =
      app.add_subcommand("rdma-ep", "writes, reads and sends through RDMA queue pairs, and verifies what arrives");
  add_examples(command,
               {{"a model of a NIC in this process, no adapter needed: writes of five sizes, each compared",
                 "xio-tester rdma-ep --provider mlx5 --verify"},
                {"writes with immediate data, 16 for each doorbell, on 4 queue pairs",
                 "xio-tester rdma-ep --provider bnxt --write-imm --transfer-size 0,4K --batch-size 16 --num-queues 4"},
                {"half of the round trip of a write and the write that answers it, as perftest's ib_write_lat gives it",
                 "xio-tester rdma-ep --provider mlx5 --ping-pong --transfer-size 64"},
                {"Linux's soft-RoCE driver, which `rdma link add rxe0 type rxe netdev eth0` sets up",
                 "xio-tester rdma-ep --device rxe0 --op read --verify"},
                {"two machines: the first command on one, the second on the other",
                 "xio-tester rdma-ep --device rxe0 --server --verify"},
                {"where 10.9.0.1 is the first one",
                 "xio-tester rdma-ep --device rxe0 --client --server-host 10.9.0.1 --verify"}});
  when_chosen(command, [command, &options] {
    add_target(*command, options);
    add_work(*command, options);
    add_queues(*command, options);
    add_rest(*command, options);
  });
  return command;
}

namespace {

void check_ping_pong(const RdmaOptions& o) {
  if (!o.ping_pong) return;
  const auto refuse = [](const std::string& flag, const std::string& why) {
    throw BadInput(flag + ": --ping-pong " + why + "; omit one of them");
  };
  if (o.verb != RdmaVerb::write) refuse(std::string("--op ") + name_of(o.verb), "writes");
  if (o.write_imm) refuse("--write-imm", "polls memory, and uses no receives");
  if (o.role == RdmaRole::alone && o.loopback) refuse("--loopback", "needs two queue pairs");
  const std::string once = "has one write at a time on a queue pair";
  if (o.batch_size != 1) refuse("--batch-size " + std::to_string(o.batch_size), once);
  if (o.depth > 1) refuse("--depth " + std::to_string(o.depth), once);
  if (o.waves != 1) refuse("--waves " + std::to_string(o.waves), once);
  if (o.wave_size != 1) refuse("--wave-size " + std::to_string(o.wave_size), once);
  if (o.less_timing) refuse("--less-timing", "reads the clock once for a round trip");
  if (o.substep_timing) refuse("--substep-timing", "times round trips");
  for (const uint64_t bytes : o.transfer_sizes)
    if (bytes == 0) refuse("--transfer-size 0", "polls the last byte of the data");
}

}  // namespace

void check(const RdmaOptions& o) {
  check_ping_pong(o);
  if (o.write_imm && o.verb != RdmaVerb::write) throw BadInput("--write-imm is for --op write; omit one of them");
  if (o.infinite && o.duration > 0) throw BadInput("--infinite and --duration exclude each other; give one of them");
  check_batch(o.batch_size, o.depth);
  if (o.infinite && o.runs > 1) throw BadInput("--infinite is one run; omit --runs");
  if (o.executor == Executor::gpu && o.device != rdma_emulated)
    throw CannotRun("--executor gpu: the doorbells of " + o.device +
                    " are calls of its driver, which a GPU cannot make; --executor host is offered");
  if (o.executor == Executor::gpu && o.substep_timing)
    throw CannotRun("--substep-timing: kernels of rdma-ep time their steps only on the CPU; give --executor host");
  const std::string mode = "--memory-mode " + std::to_string(o.memory_mode) + ": ";
  if ((o.memory_mode & ~xio::memory_mode::data) != 0)
    throw CannotRun(mode + "the device's driver or the model places queues; 0 and 8 (data) are offered");
  if (o.memory_mode != 0 && o.verify && o.device != rdma_emulated)
    throw CannotRun(mode + "completions in host memory may become visible before data in GPU memory; omit --verify");
  if (o.waves == 1 && o.wave_size == 1) return;
  const std::string lanes =
      o.waves != 1 ? "--waves " + std::to_string(o.waves) : "--wave-size " + std::to_string(o.wave_size);
  if (takes_receives(o))
    throw CannotRun(lanes +
                    ": receives are consumed in queue-pair order, which lanes that share the pair do not know; "
                    "omit " +
                    (o.write_imm ? "--write-imm" : "--op send") + ", or give --num-queues");
  if (o.role != RdmaRole::alone)
    throw CannotRun(lanes + ": with two processes, one lane drives each queue pair; --num-queues is offered");
}

}  // namespace tester
