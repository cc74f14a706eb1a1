// A pager: a program through which standard output reaches the terminal, page by page.
#pragma once

#include <string>

#include "cli/child_program.h"

namespace tarn::cli {

/// During its lifetime standard output goes to the program. The destructor waits until the user
/// leaves it. Callers flush their streams before both. One at a time.
class Pager {
 public:
  explicit Pager(const std::string& command);
  ~Pager();
  Pager(const Pager&) = delete;
  Pager& operator=(const Pager&) = delete;

 private:
  IgnoredInterrupts interrupts_;
  int terminal_;  ///< the previous standard output
  pid_t program_;
};

}  // namespace tarn::cli
