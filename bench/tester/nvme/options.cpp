// SPDX-License-Identifier: MIT
#include "tester/nvme/options.hpp"

#include <algorithm>
#include <limits>

#include <xio/host/power_of_two.hpp>

#include "tester/cli/errors.hpp"
#include "tester/cli/examples.hpp"
#include "tester/cli/flags.hpp"
#include "tester/nvme/target.hpp"

namespace tester {

namespace {

void add_work(CLI::App& app, NvmeOptions& o) {
  const std::string group = "Workload";
  add_number(app, "--read-io", o.read_io, 0, any_number, "reads, over all queues together")->group(group);
  add_number(app, "--write-io", o.write_io, 0, any_number, "writes, over all queues together; they come first")
      ->group(group);
  add_number(app, "--lbas-per-io", o.lbas_per_io, 1, 1u << 24,
             "logical blocks of one operation (default 1); more than the controller takes in one command are split")
      ->group(group);
  add_choice<bool>(app, "--access-pattern", o.random, {{"sequential", false}, {"random", true}},
                   "order of the blocks (default sequential); random is a permutation, the same for the same --seed")
      ->group(group);
  add_number(app, "--base-lba", o.base_lba, 0, any_number, "first logical block (default 0)")->group(group);
  add_number(app, "--namespace", o.nsid, 1, 0xfffffffe, "namespace (default: the one that --controller names, else 1)")
      ->group(group);
  app.add_flag("--infinite", o.infinite, "repeat the last kind of operations until Ctrl-C")->group(group);
  add_seconds(app, "--duration", o.duration, "repeat the last kind of operations for this many seconds")->group(group);
}

void add_queues(CLI::App& app, NvmeOptions& o) {
  const std::string group = "Queues";
  add_number(app, "--num-queues", o.num_queues, 1, 65535, "queue pairs, all at work at the same time (default 1)")
      ->group(group);
  add_number(app, "--queue-id", o.queue_id, 1, 65535, "identifier of the first queue pair (default: free ones)")
      ->group(group);
  add_number(app, "--queue-length", o.queue_length, 1, 65536,
             "most commands in flight on a queue, 1 to CAP.MQES + 1; the ring is the power of two that holds them "
             "(default 64, or what --depth and --batch-size need)")
      ->group(group);
  add_number(app, "--batch-size", o.batch_size, 0, 65536,
             "entries for one doorbell (default 1); 0: as many as fit; at most the depth")
      ->group(group);
  add_number(
      app, "--depth", o.depth, 1, 65536,
      "operations in flight on a queue, at most the queue length (default: 1 with batch size 1, the queue length "
      "with 0, else twice the batch size)")
      ->group(group);
  add_choice<DoorbellKind>(app, "--doorbell", o.doorbell,
                           {{"mmio", DoorbellKind::mmio}, {"shadow", DoorbellKind::shadow}},
                           "register stores, or shadow doorbells in memory (default mmio)")
      ->group(group);
  app.add_flag("--pci-mmio-bridge", o.pci_mmio_bridge, "doorbells through a PCI MMIO bridge: hardware only")
      ->group(group);
}

void add_data(CLI::App& app, NvmeOptions& o) {
  const std::string group = "Data";
  app.add_flag("--verify", o.verify, "compare what is read with what was written; unwritten blocks are skipped")
      ->group(group);
  add_number(app, "--written", o.written, 1, any_number,
             "the blocks of the first N operations were written by an earlier run with the same --seed, pattern, "
             "--base-lba and --lbas-per-io: read these")
      ->group(group);
  add_number(app, "--seed", o.seed, 0, any_number, "seed of the random order and of the data (default 1)")
      ->group(group);
  add_lfsr_seed(app, "--lfsr-seed", o.lfsr_seed,
                "fill blocks with a 32-bit LFSR that starts from this seed and the block's address")
      ->group(group);
  add_number(
      app, "--data-buffer-size", o.data_buffer_size, 1, any_number,
      "bytes of data memory for all queues together, used in turn (default: one buffer for each operation in flight)")
      ->group(group);
  add_number(app, "--memory-mode", o.memory_mode, 0, 15,
             "in GPU memory: sum of 1 SQ, 2 CQ, 4 doorbell record, 8 data (default 0); needs a GPU")
      ->group(group);
}

void add_execution(CLI::App& app, NvmeOptions& o) {
  const std::string group = "Execution";
  add_executor(app, o.executor, o.gpu, group);
  add_number(app, "--waves", o.waves, 1, 256, "waves that share each queue (default 1)")->group(group);
  add_choice<uint32_t>(app, "--wave-size", o.wave_size, {{"1", 1}, {"8", 8}, {"32", 32}, {"64", 64}},
                       "lanes of a wave (default 1; on a GPU that of the GPU, and 1 or that are accepted)")
      ->group(group);
  add_number(app, "--deadline", o.deadline_ms, 1, 3600000, "milliseconds that one operation may take (default 30000)")
      ->group(group);
}

void add_reporting(CLI::App& app, NvmeOptions& o) {
  const std::string group = "Report";
  app.add_flag("--less-timing", o.less_timing, "read the clock once for each batch instead of once for each operation")
      ->group(group);
  app.add_flag("--substep-timing", o.substep_timing, "time the steps of the queue code")->group(group);
  app.add_flag("--histogram", o.histogram, "print the distribution of the latencies")->group(group);
  app.add_flag("--smart", o.smart, "compare the operations with the drive's own count of commands (SMART)")
      ->group(group);
  add_json(app, o.json)->group(group);
  app.add_flag("--progress", o.progress, "a progress line on standard error even where that is no terminal")
      ->group(group);
}

void check_stripes(const NvmeOptions& o) {
  if (o.controllers.size() < 2) {
    if (o.stripe_blocks != 0)
      throw BadInput("--stripe-blocks is for several controllers; give --controller more than once, or leave it out");
    return;
  }
  const auto power_of_two = [](const char* flag, uint32_t value) {
    if (value != 0 && !xio::host::is_power_of_two(value))
      throw BadInput(std::string(flag) + " " + std::to_string(value) +
                     " is not accepted with several controllers; a power of two is");
  };
  power_of_two("--lbas-per-io", o.lbas_per_io);
  power_of_two("--stripe-blocks", o.stripe_blocks);
  if (o.stripe_blocks != 0 && o.stripe_blocks < o.lbas_per_io)
    throw BadInput("--stripe-blocks " + std::to_string(o.stripe_blocks) + " is less than --lbas-per-io " +
                   std::to_string(o.lbas_per_io) + ": an operation lies in one stripe; give at least that");
  if (o.base_lba % o.lbas_per_io != 0)
    throw BadInput("--base-lba " + std::to_string(o.base_lba) + " is no multiple of --lbas-per-io " +
                   std::to_string(o.lbas_per_io) + ": with several controllers an operation lies in one stripe");
  if (o.queue_id != 0)
    throw BadInput("--queue-id is for one controller: several choose the identifiers of their queues; leave it out");
  if (o.memory_mode != 0)
    throw BadInput("--memory-mode " + std::to_string(o.memory_mode) +
                   " is for one controller; with several, 0 is accepted");
  for (auto one = o.controllers.begin(); one != o.controllers.end(); ++one)
    if ((one->compare(0, 5, "vfio:") == 0 || (*one)[0] == '/') && std::find(o.controllers.begin(), one, *one) != one)
      throw BadInput("--controller " + *one + " is given twice; name each controller once");
}

/// Over RDMA: what is only on PCIe, or not there yet.
void check_remote_flags(const NvmeOptions& o) {
  const auto remote = std::find_if(o.controllers.begin(), o.controllers.end(), is_remote);
  if (remote == o.controllers.end()) return;
  check_remote(*remote);
  if (o.controllers.size() > 1)
    throw BadInput("--controller " + *remote + ": stripes are over controllers on PCIe; give it alone");
  if (o.queue_id != 0)
    throw BadInput("--queue-id is for PCIe: over RDMA connections are numbered from 1; leave it out");
  if (o.memory_mode != 0)
    throw BadInput("--memory-mode " + std::to_string(o.memory_mode) + " is for PCIe; over RDMA, 0 is accepted");
  if (o.doorbell == DoorbellKind::shadow)
    throw BadInput("--doorbell shadow is for PCIe: over RDMA the network card's doorbells are rung; leave it out");
  if (o.smart) throw BadInput("--smart is for PCIe: a target counts the commands of all its hosts; leave it out");
  if (o.executor == Executor::gpu)
    throw CannotRun(
        "--executor gpu: over RDMA this tool drives soft-RoCE, whose doorbell is a system call, which no GPU can make; "
        "give --executor host");
}

}  // namespace

CLI::App* add_nvme_command(CLI::App& app, NvmeOptions& options) {
  CLI::App* const command = app.add_subcommand("nvme-ep", "writes, reads and verifies blocks through NVMe queues");
  add_examples(command,
               {{"the controller in this process, no drive needed: 1000 writes, then 1000 reads that are compared",
                 "xio-tester nvme-ep --controller emulated --write-io 1000 --read-io 1000 --verify"},
                {"QEMU's controller: 4 queues, 16 commands for each doorbell, random blocks of 4 KiB",
                 "xio-tester nvme-ep --controller qemu:lba=4096 --write-io 4000 --read-io 4000 --verify --num-queues 4 "
                 "--batch-size 16 --access-pattern random"},
                {"three controllers as one address space, in stripes of 8 blocks",
                 "xio-tester nvme-ep --controller emulated --controller emulated --controller emulated --write-io 3000 "
                 "--read-io 3000 --verify --depth 16"},
                {"a drive bound to vfio-pci: reads for 10 seconds, 64 in flight",
                 "xio-tester nvme-ep --controller vfio:0000:04:00.0 --read-io 100000 --depth 64 --batch-size 16 "
                 "--duration 10"},
                {"a target behind RDMA, by soft-RoCE",
                 "xio-tester nvme-ep --controller fabrics:traddr=10.9.0.1,nqn=xio --write-io 1000 --read-io 1000 "
                 "--verify --depth 16"}});
  when_chosen(command, [command, &options] {
    command
        ->add_option("--controller", options.controllers,
                     std::string(xio::host::nvme_spec_forms) + "; " + remote_spec_form +
                         "; given more than once: stripes over all of them")
        ->type_name("SPEC")
        ->allow_extra_args(false);
    add_number(*command, "--stripe-blocks", options.stripe_blocks, 1, 1u << 24,
               "several controllers: logical blocks of a stripe, a power of two (default 8, or --lbas-per-io)");
    add_work(*command, options);
    add_queues(*command, options);
    add_data(*command, options);
    add_execution(*command, options);
    add_reporting(*command, options);
  });
  return command;
}

void check(const NvmeOptions& o) {
  check_remote_flags(o);
  check_stripes(o);
  if (o.controllers.empty() && o.write_io != 0)
    throw BadInput(std::string("no controller: name the one to write to with --controller; ") +
                   xio::host::nvme_spec_forms + " are accepted");
  if (o.read_io == 0 && o.write_io == 0) throw BadInput("no operations: give --read-io or --write-io, at least 1");
  if (o.pci_mmio_bridge) throw CannotRun("--pci-mmio-bridge: only with a bridge in hardware; omit it");
  if (o.written != 0 && o.write_io != 0)
    throw BadInput("--written is for runs that only read; with --write-io the blocks of this run are read");
  if (o.infinite && o.duration > 0) throw BadInput("--infinite and --duration exclude each other; give one of them");
  check_batch(o.batch_size, o.depth);
  if (o.queue_length != 0 && o.batch_size > o.queue_length)
    throw BadInput("--batch-size " + std::to_string(o.batch_size) + " is more than --queue-length " +
                   std::to_string(o.queue_length) + "; give at most that");
  if (!o.verify) return;
  if (o.read_io == 0) throw BadInput("--verify compares what is read, and this run does not read; give --read-io");
  if (o.write_io == 0 && o.written == 0)
    throw BadInput(
        "--verify compares with what was written, and nothing is known of it; give --write-io, or --written");
}

}  // namespace tester
