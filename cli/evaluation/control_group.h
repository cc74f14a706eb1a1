// A control group of the kernel, which limits the memory and the processes of a sandbox together.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <vector>

#include <sys/types.h>

namespace tarn::cli {

/// One group below that of this process. Removed by the destructor, when its processes must have
/// ended.
class ControlGroup {
 public:
  /// nullptr where this process may make none: its group is not delegated to it. With version 2,
  /// the first call moves this process into a group "tarn" below its own.
  static std::unique_ptr<ControlGroup> try_make(uint64_t memory_bytes, uint64_t processes);
  ~ControlGroup();
  ControlGroup(const ControlGroup&) = delete;
  ControlGroup& operator=(const ControlGroup&) = delete;

  /// Moves a process; those that it starts from then on are in the group too.
  bool take(pid_t process);
  /// Whether the kernel killed a process of the group at the limit of memory.
  bool ran_out_of_memory() const;

 private:
  ControlGroup() = default;
  /// Makes a folder and writes each limit into a file of it.
  bool make(const std::filesystem::path& parent,
            const std::vector<std::pair<const char*, uint64_t>>& limits);

  std::vector<std::filesystem::path> folders_;  ///< one with version 2, one a controller with 1
  std::filesystem::path events_;                ///< has a line "oom_kill N"
};

}  // namespace tarn::cli
