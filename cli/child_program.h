// Programs that the user chose, such as a pager or an editor, run by the shell.
#pragma once

#include <string>
#include <vector>

#include <sys/types.h>

namespace tarn::cli {

/// Starts `command`, a line of shell, with `arguments` behind it. `input` becomes its standard
/// input; -1 = that of this process. Throws if it cannot start.
pid_t start_program(const std::string& command, const std::vector<std::string>& arguments,
                    int input = -1);
/// Waits for the end; returns the exit status, or 128 and the number of the signal that ended it.
int wait_for_program(pid_t program);

/// Keeps ^C from ending this process while another program has the terminal. One at a time.
class IgnoredInterrupts {
 public:
  IgnoredInterrupts();
  ~IgnoredInterrupts();
  IgnoredInterrupts(const IgnoredInterrupts&) = delete;
  IgnoredInterrupts& operator=(const IgnoredInterrupts&) = delete;

 private:
  void (*before_)(int);
};

}  // namespace tarn::cli
