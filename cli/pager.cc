#include "cli/pager.h"

#include <cstdlib>

#include <fcntl.h>
#include <unistd.h>

#include "core/base/error.h"

namespace tarn::cli {

Pager::Pager(const std::string& command) : terminal_(::fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3)) {
  int ends[2];
  if (terminal_ < 0 || ::pipe2(ends, O_CLOEXEC) != 0) {
    throw Error(ErrorCode::kInternal, "starting the pager: no file descriptors left");
  }
  ::setenv("LESS", "FRX", /*overwrite=*/0);  // for PAGER=less
  program_ = start_program(command, {}, ends[0]);
  ::dup2(ends[1], STDOUT_FILENO);
  ::close(ends[0]);
  ::close(ends[1]);
}

Pager::~Pager() {
  ::dup2(terminal_, STDOUT_FILENO);  // closes the pipe, which ends the pager's input
  ::close(terminal_);
  wait_for_program(program_);
}

}  // namespace tarn::cli
