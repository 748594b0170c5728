// SPDX-License-Identifier: MIT
// Small files, links and folders.

#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include <xio/host/files.hpp>

#include "catch.hpp"

using namespace xio::host;
using namespace xio::host::detail;

namespace {

struct Folder {
  Folder() {
    char name[] = "/tmp/xio-files-XXXXXX";
    REQUIRE(::mkdtemp(name) != nullptr);
    path = std::filesystem::canonical(name).string();
  }
  ~Folder() { std::filesystem::remove_all(path); }
  std::string put(const std::string& name, const std::string& text) const {
    std::ofstream(path + "/" + name) << text;
    return path + "/" + name;
  }
  std::string path;
};

using Words = std::vector<std::string>;

}  // namespace

TEST_CASE("a text falls into pieces", "[host]") {
  CHECK(pieces_of(" one  two\tthree\n", blanks) == Words{"one", "two", "three"});
  CHECK(pieces_of("one", blanks) == Words{"one"});
  CHECK(pieces_of("/sys//devices/", "/") == Words{"sys", "devices"});
  CHECK(pieces_of("", blanks).empty());
  CHECK(pieces_of(" \n", blanks).empty());
}

TEST_CASE("files are read whole, by lines and by words", "[host]") {
  const Folder folder;
  const std::string longer(10000, 'x');
  CHECK(contents_of(folder.put("long", longer)) == longer);
  CHECK(contents_of(folder.put("empty", "")) == std::string());
  CHECK(lines_of(folder.put("lines", "first line\n\nsecond\nthird")) == Words{"first line", "second", "third"});
  CHECK(first_word(folder.put("word", "\n  live again\n")) == "live");
  CHECK(signed_number(folder.put("negative", "-1\n")) == -1);
  CHECK(signed_number(folder.put("positive", "2147483647")) == 2147483647);
  CHECK_FALSE(signed_number(folder.put("large", "2147483648")));
  CHECK_FALSE(signed_number(folder.put("none", "-\n")));
  // Nothing there, and nothing that can be read.
  for (const std::string& path : {folder.path + "/missing", folder.path}) {
    CHECK_FALSE(contents_of(path));
    CHECK(lines_of(path).empty());
    CHECK(first_word(path).empty());
    CHECK_FALSE(signed_number(path));
  }
}

TEST_CASE("folders and links, also such as lead nowhere", "[host]") {
  const Folder folder;
  std::filesystem::create_directory(folder.path + "/b");
  folder.put("b/inside", "");
  folder.put(".a", "");
  REQUIRE(::symlink("b/../b", (folder.path + "/link").c_str()) == 0);
  REQUIRE(::symlink("gone/away", (folder.path + "/nowhere").c_str()) == 0);

  CHECK(names_in(folder.path) == Words{".a", "b", "link", "nowhere"});
  CHECK(names_in(folder.path + "/link") == Words{"inside"});
  CHECK(names_in(folder.path + "/.a").empty());
  CHECK(names_in(folder.path + "/missing").empty());

  CHECK(exists(folder.path + "/link"));
  CHECK_FALSE(exists(folder.path + "/nowhere"));
  CHECK(real_path(folder.path + "/link/inside") == folder.path + "/b/inside");
  CHECK(real_path(folder.path + "/nowhere").empty());
  CHECK(link_target(folder.path + "/nowhere") == "gone/away");
  CHECK(last_part(link_target(folder.path + "/nowhere")) == "away");
  CHECK(link_target(folder.path + "/b").empty());
  CHECK(last_part("alone") == "alone");
  CHECK(last_part("").empty());
}
