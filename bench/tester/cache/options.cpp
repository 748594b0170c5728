// SPDX-License-Identifier: MIT
#include "tester/cache/options.hpp"

#include <algorithm>

#include "tester/cli/examples.hpp"
#include "tester/cli/flags.hpp"
#include "tester/nvme/target.hpp"

namespace tester {

namespace {

void add_operations(CLI::App& app, std::vector<CacheOperation>& to) {
  static const std::pair<const char*, CacheOperation> words[] = {
      {"put", CacheOperation::put}, {"flush", CacheOperation::flush}, {"get", CacheOperation::get}};
  const auto parse = [&to](const std::string& text) {
    to.clear();
    for (const std::string& item : split_list("--operations", text)) {
      const size_t before = to.size();
      for (const auto& [word, operation] : words)
        if (item == word) to.push_back(operation);
      if (to.size() == before)
        throw CLI::ValidationError("--operations", item + " is not accepted; put, flush and get are");
    }
  };
  app.add_option_function<std::string>("--operations", parse,
                                       "one after the other: put, of each element once, flush, and get (default get)")
      ->type_name("LIST");
}

void add_bytes(CLI::App& app, const std::string& flag, uint64_t& to, const std::string& what) {
  const auto parse = [flag, &to](const std::string& text) {
    const auto bytes = xio::host::parse_bytes(text);
    if (!bytes || *bytes == 0) throw CLI::ValidationError(flag, text + " is not accepted; bytes are, as 4096 or 64K");
    to = *bytes;
  };
  app.add_option_function<std::string>(flag, parse, what)->type_name("BYTES");
}

}  // namespace

bool TesterCacheOptions::has(CacheOperation operation) const {
  return std::find(operations.begin(), operations.end(), operation) != operations.end();
}

CLI::App* add_cache_command(CLI::App& app, TesterCacheOptions& options) {
  CLI::App* const command =
      app.add_subcommand("cache-ep", "puts into and gets from an array on drives, behind a page cache");
  add_examples(command, {{"the controller in this process: an array of 4 MiB behind a cache of 1 MiB, put, compared",
                          "xio-tester cache-ep --controller emulated --operations put,flush,get --verify"},
                         {"two drives, 8 waves of 32 lanes, more lanes than frames",
                          "xio-tester cache-ep --controller emulated --controller emulated --waves 8 --wave-size 32 "
                          "--cache-size 64K --operations put,flush,get --verify"}});
  when_chosen(command, [command, &options] {
    command
        ->add_option("--controller", options.controllers,
                     std::string(xio::host::nvme_spec_forms) + "; given more than once: pages lie on each in turn")
        ->type_name("SPEC")
        ->required()
        ->allow_extra_args(false);
    add_operations(*command, options.operations);
    add_number(*command, "--gets", options.gets, 1, any_number, "elements of 8 bytes to get (default 10000)");
    add_bytes(*command, "--range", options.range_bytes,
              "bytes of the array, from the beginning of the drives (default: four times the cache, or all)");
    add_choice<bool>(*command, "--access-pattern", options.random, {{"random", true}, {"sequential", false}},
                     "order of the gets (default random)");
    add_bytes(*command, "--page-size", options.page_bytes, "bytes of a page (default 4096)");
    add_bytes(*command, "--cache-size", options.cache_bytes, "bytes of all frames (default 1M)");
    add_number(*command, "--ways", options.ways, 4, 64, "frames of a set, a power of two (default 8)");
    add_number(*command, "--seed", options.seed, 0, any_number, "seed of the values and of random orders (default 1)");
    command->add_flag("--verify", options.verify, "compare what is got with what this seed puts");
    add_number(*command, "--num-queues", options.num_queues, 1, 65535, "queue pairs of each drive (default 1)");
    add_number(*command, "--queue-length", options.queue_length, 1, 65536,
               "most commands in flight on a queue (default 64)");
    const std::string group = "Execution";
    add_executor(*command, options.executor, options.gpu, group);
    add_number(*command, "--waves", options.waves, 1, 1024, "waves that share the cache (default 1)")->group(group);
    add_choice<uint32_t>(*command, "--wave-size", options.wave_size, {{"1", 1}, {"8", 8}, {"32", 32}, {"64", 64}},
                         "lanes of a wave (default 1; on a GPU that of the GPU, and 1 or that are accepted)")
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
