// SPDX-License-Identifier: MIT
/// @file
/// @brief Whether rdma-ep is one process or one of two: launchers' variables, flags, and what both must agree on.

#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <map>

#include <xio/host/rdma/driver.hpp>

#include "catch.hpp"
#include "tester/cli/errors.hpp"
#include "tester/launch/launcher.hpp"
#include "tester/rdma/role.hpp"
#include "tester/rdma/verbs.hpp"

using namespace tester;

namespace {

using Variables = std::map<std::string, std::string>;

std::optional<Launcher> find(const Variables& variables) {
  return find_launcher([&](const char* name) {
    const auto found = variables.find(name);
    return found == variables.end() ? nullptr : found->second.c_str();
  });
}

/// What resolve_role() complains of; empty where it does not.
std::string complaint(RdmaOptions options, const std::optional<Launcher>& launcher = std::nullopt) {
  try {
    resolve_role(options, launcher);
  } catch (const BadInput& reason) {
    return reason.what();
  }
  return {};
}

bool contains(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

RdmaOptions on_device() {
  RdmaOptions options;
  options.device = "rxe0";
  return options;
}

}  // namespace

TEST_CASE("launchers say in the environment which process this is") {
  CHECK_FALSE(find({}));
  CHECK_FALSE(find({{"HOME", "/root"}}));
  for (const auto& [name, rank, size] :
       {std::tuple{"Open MPI", "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"},
        std::tuple{"PMI", "PMI_RANK", "PMI_SIZE"}, std::tuple{"Slurm", "SLURM_PROCID", "SLURM_NTASKS"}}) {
    CAPTURE(name);
    const auto found = find({{rank, "1"}, {size, "2"}});
    REQUIRE(found);
    CHECK(found->name == name);
    CHECK(found->rank == 1);
    CHECK(found->size == 2);
    // One of both is not a launcher's doing.
    CHECK_FALSE(find({{rank, "1"}}));
    CHECK_FALSE(find({{size, "2"}}));
    for (const char* const wrong : {"", "-1", "one", "1 ", "4294967296", "99999999999999999999"})
      CHECK_THROWS_AS(find({{rank, wrong}, {size, "2"}}), BadInput);
    CHECK_THROWS_AS(find({{rank, "2"}, {size, "2"}}), BadInput);
    CHECK_THROWS_AS(find({{rank, "0"}, {size, "0"}}), BadInput);
  }
}

TEST_CASE("the launcher inside of a job counts, not the job's own") {
  const Variables both = {{"SLURM_PROCID", "0"},         {"SLURM_NTASKS", "64"}, {"OMPI_COMM_WORLD_RANK", "1"},
                          {"OMPI_COMM_WORLD_SIZE", "2"}, {"PMI_RANK", "5"},      {"PMI_SIZE", "7"}};
  CHECK(find(both)->name == "Open MPI");
  CHECK(find(both)->rank == 1);
}

TEST_CASE("rank 0 is the server and rank 1 the client") {
  for (const uint32_t rank : {0u, 1u}) {
    RdmaOptions options = on_device();
    options.server_host = "node7";
    resolve_role(options, Launcher{"PMI", rank, 2});
    CHECK(options.role == (rank == 0 ? RdmaRole::server : RdmaRole::client));
    CHECK(options.launched);
    CHECK(options.server_host == "node7");
  }
  RdmaOptions options = on_device();
  resolve_role(options, Launcher{"PMI", 1, 2});
  CHECK(options.server_host == "127.0.0.1");
}

TEST_CASE("flags go before the launcher") {
  RdmaOptions options = on_device();
  options.client = true;
  resolve_role(options, Launcher{"PMI", 0, 2});
  CHECK(options.role == RdmaRole::client);
  CHECK_FALSE(options.launched);

  options = on_device();
  options.loopback_given = true;
  resolve_role(options, Launcher{"Slurm", 3, 8});
  CHECK(options.role == RdmaRole::alone);

  // mpirun -n 1
  options = on_device();
  resolve_role(options, Launcher{"Open MPI", 0, 1});
  CHECK(options.role == RdmaRole::alone);
}

TEST_CASE("roles that cannot be are refused") {
  CHECK(contains(complaint(on_device(), Launcher{"Open MPI", 0, 3}), "Open MPI has started 3 processes"));
  RdmaOptions options = on_device();
  options.server = options.client = true;
  CHECK(contains(complaint(options), "--server and --client"));
  options.client = false;
  CHECK(complaint(options).empty());
  options.loopback_given = true;
  CHECK(contains(complaint(options), "--loopback is for one process"));
  options.loopback = false;
  CHECK(contains(complaint(options), "--no-loopback is for one process"));
  options.loopback_given = false;
  options.server_host = "here";
  CHECK(contains(complaint(options), "--server-host is for --client"));
  options.server_host.clear();
  options.listen = {"10.9.0.1"};
  CHECK(complaint(options).empty());
  options.server = false;
  CHECK(contains(complaint(options), "--listen specifies where --server listens"));
  options.client = true;
  CHECK(contains(complaint(options), "--listen is for --server"));
  options = on_device();
  options.server_host = "there";
  CHECK(contains(complaint(options), "give --client too"));
  options = RdmaOptions{};
  options.server = true;
  CHECK(contains(complaint(options), "--device emulated"));
  CHECK(contains(complaint(RdmaOptions{}, Launcher{"PMI", 0, 2}), "--device emulated"));
}

TEST_CASE("a flag that differs is named") {
  const RdmaOptions ours;
  const auto difference = [&](void (*change)(RdmaOptions&)) -> std::string {
    RdmaOptions theirs;
    change(theirs);
    try {
      require_agreement(agreement_of(ours), agreement_of(theirs));
    } catch (const BadInput& reason) {
      return reason.what();
    }
    return {};
  };
  CHECK(difference([](RdmaOptions&) {}).empty());
  CHECK(difference([](RdmaOptions& o) { o.batch_size = 16; }) ==
        "--batch-size: 1 here, 16 on the other side; give both sides the same");
  CHECK(contains(difference([](RdmaOptions& o) { o.verb = RdmaVerb::send; }), "--op: write here, send on"));
  CHECK(contains(difference([](RdmaOptions& o) { o.write_imm = true; }), "--write-imm: not given here, given on"));
  CHECK(contains(difference([](RdmaOptions& o) { o.ping_pong = true; }), "--ping-pong: not given here, given on"));
  CHECK(contains(difference([](RdmaOptions& o) { o.transfer_sizes = {64, 256}; }),
                 "--transfer-size: (default) here, 64,256 on"));
  CHECK(contains(difference([](RdmaOptions& o) { o.iterations = 7; }), "--iterations: "));
  CHECK(contains(difference([](RdmaOptions& o) { o.runs = 7; }), "--runs: "));
  CHECK(contains(difference([](RdmaOptions& o) { o.infinite = true; }), "--infinite: "));
  CHECK(contains(difference([](RdmaOptions& o) { o.duration = 0.5; }), "--duration: "));
  CHECK(contains(difference([](RdmaOptions& o) { o.num_queues = 7; }), "--num-queues: "));
  CHECK(contains(difference([](RdmaOptions& o) { o.depth = 7; }), "--depth: "));
  CHECK(contains(difference([](RdmaOptions& o) { o.sq_depth = 7; }), "--sq-depth: "));
  CHECK(contains(difference([](RdmaOptions& o) { o.verify = true; }), "--verify: "));
  CHECK(contains(difference([](RdmaOptions& o) { o.seed = 7; }), "--seed: "));
  CHECK(contains(difference([](RdmaOptions& o) { o.lfsr_seed = 7; }), "--lfsr-seed: "));
  // What each side may choose for itself.
  CHECK(difference([](RdmaOptions& o) {
          o.device = "rxe7";
          o.json = "file";
          o.histogram = o.progress = true;
          o.cq_depth = 512;
          o.inline_threshold = 64;
        }).empty());
  // Another version, which knows other flags.
  const std::string mine = agreement_of(ours);
  CHECK_THROWS_WITH(require_agreement(mine, "version 99.0.0\n"), Catch::Contains("version: "));
  CHECK_THROWS_WITH(require_agreement(mine, mine.substr(0, mine.find('\n') + 1)), Catch::Contains("something else"));
  CHECK_THROWS_AS(require_agreement(mine, ""), BadInput);
}

TEST_CASE("a device's driver is found, and what cannot be used is refused with advice") {
  char folder[] = "/tmp/xio-driver-XXXXXX";
  REQUIRE(::mkdtemp(folder) != nullptr);
  const std::string root = folder;
  const std::string make = "mkdir -p " + root + "/rxe3 " + root + "/mlx5_0/device " + root + "/drivers/mlx5_core " +
                           root + "/odd && touch " + root + "/rxe3/parent && ln -s ../../drivers/mlx5_core " + root +
                           "/mlx5_0/device/driver";
  REQUIRE(std::system(make.c_str()) == 0);
  CHECK(xio::host::rdma_driver("rxe3", root) == "rdma_rxe");
  CHECK(xio::host::rdma_driver("mlx5_0", root) == "mlx5_core");
  CHECK(xio::host::rdma_driver("odd", root).empty());
  CHECK(xio::host::rdma_driver("none", root).empty());
  CHECK(xio::host::rdma_driver("../rxe3", root + "/odd").empty());
  CHECK(xio::host::rdma_driver("", root).empty());
  CHECK(std::system(("rm -r " + root).c_str()) == 0);

  const std::string refusal = refusal_of_driver("mlx5_0", "mlx5_core");
  CHECK(contains(refusal, "--device mlx5_0: devices of the driver mlx5_core are not supported by this version"));
  CHECK(contains(refusal, "--provider mlx5"));
  CHECK(contains(refusal_of_driver("siw0", "siw"), "soft-RoCE's are"));
  CHECK_FALSE(contains(refusal_of_driver("siw0", "siw"), "--provider"));
  CHECK(contains(refusal_of_driver("x", ""), "an unknown driver"));
}

TEST_CASE("an agreement is known by its form, and what is wrong with it is shown without harm") {
  const RdmaOptions options;
  const std::string mine = agreement_of(options);
  CHECK(is_agreement(mine));
  for (const char* const text : {"", "GET / HTTP/1.1", "version 1.0.0", "--op write\n", "\nversion 1\n--op write"})
    CHECK_FALSE(is_agreement(text));
  std::string theirs = mine;
  const size_t at = theirs.find("--op write") + 5;
  theirs.replace(at, 5, "\x1b]0;owned\x07" + std::string(5000, 'z'));
  try {
    require_agreement(mine, theirs);
    FAIL("they agree");
  } catch (const BadInput& reason) {
    const std::string shown = reason.what();
    CHECK(contains(shown, "\\x1b]0;owned\\x07"));
    CHECK(shown.find('\x1b') == std::string::npos);
    CHECK(shown.size() < 1000);
  }
}
