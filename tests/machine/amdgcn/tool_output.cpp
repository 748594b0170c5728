// SPDX-License-Identifier: MIT
#include <machine/amdgcn/tool_output.hpp>

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <sstream>

#include <machine/core/address_space.hpp>

namespace machine::amdgcn {

bool is_installed(const std::string& program) {
  const char* const path = std::getenv("PATH");
  std::istringstream folders(path != nullptr ? path : "/usr/bin:/bin");
  for (std::string folder; std::getline(folders, folder, ':');)
    if (access((folder + "/" + program).c_str(), X_OK) == 0) return true;
  return false;
}

std::string output_of(const std::vector<std::string>& command, int input) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) throw Fault("no pipe for " + command[0]);
  std::vector<char*> arguments;
  for (const std::string& one : command) arguments.push_back(const_cast<char*>(one.c_str()));
  arguments.push_back(nullptr);
  const pid_t child = fork();
  if (child == 0) {
    dup2(ends[1], STDOUT_FILENO);
    dup2(input, STDIN_FILENO);
    lseek(STDIN_FILENO, 0, SEEK_SET);
    execvp(arguments[0], arguments.data());
    _exit(127);
  }
  close(ends[1]);
  std::string text;
  char buffer[65536];
  for (ssize_t count; (count = read(ends[0], buffer, sizeof buffer)) > 0;)
    text.append(buffer, static_cast<size_t>(count));
  close(ends[0]);
  int status = 0;
  if (child < 0 || waitpid(child, &status, 0) != child || status != 0)
    throw Fault(WEXITSTATUS(status) == 127 ? command[0] + " is not installed" : command[0] + " failed");
  return text;
}

}  // namespace machine::amdgcn
