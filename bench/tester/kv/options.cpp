// SPDX-License-Identifier: MIT
#include "tester/kv/options.hpp"

#include "tester/cli/examples.hpp"
#include "tester/cli/flags.hpp"
#include "tester/nvme/target.hpp"

namespace tester {

namespace {

void add_operations(CLI::App& app, std::vector<KvOperation>& to) {
  static const std::pair<const char*, KvOperation> words[] = {{"store", KvOperation::store},
                                                              {"retrieve", KvOperation::retrieve},
                                                              {"exist", KvOperation::exist},
                                                              {"delete", KvOperation::remove},
                                                              {"absent", KvOperation::absent}};
  const auto parse = [&to](const std::string& text) {
    to.clear();
    for (const std::string& item : split_list("--operations", text)) {
      const size_t before = to.size();
      for (const auto& [word, operation] : words)
        if (item == word) to.push_back(operation);
      if (to.size() == before)
        throw CLI::ValidationError("--operations",
                                   item + " is not accepted; store, retrieve, exist, delete and absent are");
    }
  };
  app.add_option_function<std::string>(
         "--operations", parse,
         "for all keys, one after the other: store, retrieve, exist, delete, and absent, which asks whether a key is "
         "gone (default store,retrieve,delete)")
      ->type_name("LIST");
}

/// "4096" or "512-65536".
void add_sizes(CLI::App& app, KvOptions& o) {
  const auto parse = [&o](const std::string& text) {
    const size_t dash = text.find('-');
    const auto least = xio::host::parse_bytes(text.substr(0, dash));
    const auto most = dash == std::string::npos ? least : xio::host::parse_bytes(text.substr(dash + 1));
    if (!least || !most || *least > *most || *most > 0x7fffffff)
      throw CLI::ValidationError("--value-size", text + " is not accepted; bytes are, as 4096 or 512-64K");
    o.least_bytes = static_cast<uint32_t>(*least);
    o.most_bytes = static_cast<uint32_t>(*most);
  };
  app.add_option_function<std::string>("--value-size", parse,
                                       "bytes of each value, or a range from which each key's size is drawn (default "
                                       "4096)")
      ->type_name("N[-M]");
}

}  // namespace

CLI::App* add_kv_command(CLI::App& app, KvOptions& options) {
  CLI::App* const command =
      app.add_subcommand("kv-ep", "stores, retrieves, verifies and deletes values under keys through NVMe queues");
  add_examples(command,
               {{"the controller in this process: 1000 values of 4 KiB, stored, compared and deleted",
                 "xio-tester kv-ep --controller emulated:keys=16 --verify"},
                {"4 waves of 32 lanes share a queue, values of 1 byte to 64 KiB, and keys that are gone in the end",
                 "xio-tester kv-ep --controller emulated:keys=16 --waves 4 --wave-size 32 --value-size 1-64K --verify "
                 "--operations store,retrieve,exist,delete,absent"}});
  when_chosen(command, [command, &options] {
    command->add_option("--controller", options.controller, xio::host::nvme_spec_forms)->type_name("SPEC")->required();
    add_operations(*command, options.operations);
    add_number(*command, "--keys", options.keys, 1, any_number, "number of keys (default 1000)");
    add_number(*command, "--key-size", options.key_bytes, 1, xio::nvme::kv::longest_key,
               "bytes of a key (default: the longest that the namespace has)");
    add_sizes(*command, options);
    add_number(*command, "--namespace", options.nsid, 1, 0xfffffffe,
               "namespace (default: the one that --controller names, else 1)");
    add_number(*command, "--seed", options.seed, 0, any_number, "seed of the values and of their sizes (default 1)");
    command->add_flag("--verify", options.verify, "compare what is retrieved with what this seed stores");
    add_number(*command, "--num-queues", options.num_queues, 1, 65535,
               "queue pairs, all at work at the same time "
               "(default 1)");
    add_number(*command, "--queue-length", options.queue_length, 1, 65536,
               "most commands in flight on a queue (default 64)");
    const std::string group = "Execution";
    add_executor(*command, options.executor, options.gpu, group);
    add_number(*command, "--waves", options.waves, 1, 256, "waves that share each queue (default 1)")->group(group);
    add_choice<uint32_t>(*command, "--wave-size", options.wave_size, {{"1", 1}, {"8", 8}, {"32", 32}, {"64", 64}},
                         "lanes of a wave, each with one operation in flight (default 1; on a GPU that of the GPU, and "
                         "1 or that are accepted)")
        ->group(group);
    add_number(*command, "--deadline", options.deadline_ms, 1, 3600000,
               "milliseconds that one operation may take (default 30000)")
        ->group(group);
    command->add_flag("--histogram", options.histogram, "print the distribution of the latencies");
    add_json(*command, options.json);
    command->add_flag("--progress", options.progress,
                      "a progress line on standard error even where that is no terminal");
  });
  return command;
}

}  // namespace tester
