// SPDX-License-Identifier: MIT
/// @file
/// @brief Tests of files with launches and their budgets.

#include <unistd.h>

#include <cstdio>
#include <fstream>
#include <sstream>
#include <string>

#include <catch.hpp>

#include <machine/timed/rows.hpp>

namespace {

using machine::Fault;
using machine::timed::Row;
using machine::timed::Rows;
using machine::timed::Setup;

struct File {
  explicit File(const std::string& text) { std::ofstream(path) << text; }
  ~File() { std::remove(path.c_str()); }
  std::string text() const {
    std::stringstream out;
    out << std::ifstream(path).rdbuf();
    return out.str();
  }
  std::string fault() const {
    try {
      const Rows rows(path);
    } catch (const Fault& one) {
      return one.what();
    }
    return "";
  }
  std::string path = "timed-rows." + std::to_string(getpid());
};

}  // namespace

TEST_CASE("A line of budgets names a launch", "[machine]") {
  const File file(
      "# all\n\nrdma put_grid waves=4 ns=9950 # why\n"
      "nvme read_grid rings=host device=cpu service=150 measured=5.3 within=20\n");
  const Rows rows(file.path);
  REQUIRE(rows.all().size() == 2);
  const Row& first = rows.all()[0];
  CHECK(first.program == "rdma");
  CHECK(first.setup.text() == "put_grid waves=4");
  CHECK(first.ns == 9950);
  const Row& second = rows.all()[1];
  CHECK(second.setup.text() == "read_grid waves=1 rings=host device=cpu service=150");
  CHECK(second.ns == 0);
  CHECK(second.measured == 5.3);
  CHECK(second.within == 20);
}

TEST_CASE("New budgets replace the old ones and nothing else", "[machine]") {
  const File file(
      "# all\n\nrdma put_grid waves=4 ns=9950  # why\nrdma put_wave rows=2 # no budget yet\nrdma put_wave\n");
  Rows rows(file.path);
  rows.set_ns(rows.all()[0], 8000.4);
  rows.set_ns(rows.all()[1], 12.6);
  rows.set_ns(rows.all()[2], 7);
  rows.write();
  CHECK(file.text() ==
        "# all\n\nrdma put_grid waves=4 ns=8000  # why\nrdma put_wave rows=2 ns=13 # no budget yet\nrdma put_wave "
        "ns=7\n");
}

TEST_CASE("A wrong line of budgets is refused by its number", "[machine]") {
  const auto refused = [](const std::string& text) { return File(text).fault(); };
  CHECK_THAT(refused("rdma\n"), Catch::Matchers::EndsWith(":1: a program and a kernel are wanted"));
  CHECK_THAT(refused("\nrdma put_grid wave=1\n"), Catch::Matchers::EndsWith(":2: there is no setting wave"));
  CHECK_THAT(refused("rdma put_grid waves=0\n"), Catch::Matchers::EndsWith("waves=0: no number from 1"));
  CHECK_THAT(refused("rdma put_grid waves\n"), Catch::Matchers::EndsWith("waves=: no number from 1"));
  CHECK_THAT(refused("rdma put_grid ns=x\n"), Catch::Matchers::EndsWith("ns=x is no number above 0"));
  CHECK_THAT(refused("nvme read_grid rings=near\n"), Catch::Matchers::EndsWith("rings=near: gpu or host"));
  CHECK_THAT(File("").fault(), Catch::Matchers::Equals(""));
}
