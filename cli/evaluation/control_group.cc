#include "cli/evaluation/control_group.h"

#include <atomic>
#include <chrono>
#include <fstream>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <utility>

#include <unistd.h>

#include "core/base/str_cat.h"

namespace tarn::cli {
namespace {

namespace fs = std::filesystem;

const fs::path kMounts = "/sys/fs/cgroup";
constexpr const char* kOwnGroup = "tarn";
constexpr int kRemovalAttempts = 50;
constexpr std::chrono::milliseconds kRemovalPause{20};

bool write_file(const fs::path& path, std::string_view text) {
  std::ofstream file(path);
  return static_cast<bool>(file << text << std::flush);
}

/// The group of this process for a controller of version 1, or with "" that of version 2.
std::optional<fs::path> own_group(std::string_view controller) {
  std::ifstream lines("/proc/self/cgroup");
  for (std::string line; std::getline(lines, line);) {
    const size_t first = line.find(':');
    const size_t second = line.find(':', first + 1);
    if (second == std::string::npos) continue;
    const std::string names = str_cat(',', line.substr(first + 1, second - first - 1), ',');
    if (names.find(str_cat(',', controller, ',')) == std::string::npos) continue;
    return kMounts / controller / fs::path(line.substr(second + 1)).relative_path();
  }
  return std::nullopt;
}

/// The group below which version 2 lets this process limit others. A group with limits for its
/// children may have no process of its own, so this one moves aside.
std::optional<fs::path> delegated_group() {
  const auto own = own_group("");
  if (!own) return std::nullopt;
  if (own->filename() == kOwnGroup) return own->parent_path();
  const fs::path aside = *own / kOwnGroup;
  std::error_code failed;
  if (!fs::create_directory(aside, failed) && !fs::is_directory(aside, failed)) return std::nullopt;
  const std::string self = std::to_string(::getpid());
  if (write_file(aside / "cgroup.procs", self) &&
      write_file(*own / "cgroup.subtree_control", "+memory +pids")) {
    return own;
  }
  write_file(*own / "cgroup.procs", self);
  fs::remove(aside, failed);
  return std::nullopt;
}

}  // namespace

bool ControlGroup::make(const fs::path& parent,
                        const std::vector<std::pair<const char*, uint64_t>>& limits) {
  static std::atomic<int> made = 0;
  const fs::path folder = parent / str_cat("tarn-", ::getpid(), '-', ++made);
  std::error_code failed;
  if (!fs::create_directory(folder, failed)) return false;
  folders_.push_back(folder);
  for (const auto& [file, limit] : limits) {
    if (!write_file(folder / file, std::to_string(limit))) return false;
  }
  return true;
}

std::unique_ptr<ControlGroup> ControlGroup::try_make(uint64_t memory_bytes, uint64_t processes) {
  std::unique_ptr<ControlGroup> group(new ControlGroup);
  if (const auto memory = own_group("memory")) {
    const auto pids = own_group("pids");
    if (!pids || !group->make(*memory, {{"memory.limit_in_bytes", memory_bytes}}) ||
        !group->make(*pids, {{"pids.max", processes}})) {
      return nullptr;
    }
    // Absent where the kernel does not count swap.
    write_file(group->folders_[0] / "memory.memsw.limit_in_bytes", std::to_string(memory_bytes));
    group->events_ = group->folders_[0] / "memory.oom_control";
    return group;
  }
  const auto delegated = delegated_group();
  if (!delegated ||
      !group->make(*delegated, {{"memory.max", memory_bytes}, {"pids.max", processes}})) {
    return nullptr;
  }
  write_file(group->folders_[0] / "memory.swap.max", "0");
  group->events_ = group->folders_[0] / "memory.events";
  return group;
}

ControlGroup::~ControlGroup() {
  for (const fs::path& folder : folders_) {
    // A group is busy for a moment after its last process.
    for (int attempt = 0; ::rmdir(folder.c_str()) != 0 && attempt < kRemovalAttempts; ++attempt) {
      std::this_thread::sleep_for(kRemovalPause);
    }
  }
}

bool ControlGroup::take(pid_t process) {
  for (const fs::path& folder : folders_) {
    if (!write_file(folder / "cgroup.procs", std::to_string(process))) return false;
  }
  return true;
}

bool ControlGroup::ran_out_of_memory() const {
  std::ifstream words(events_);
  for (std::string name, value; words >> name >> value;) {
    if (name == "oom_kill") return value != "0";
  }
  return false;
}

}  // namespace tarn::cli
