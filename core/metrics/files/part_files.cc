#include "core/metrics/files/part_files.h"

#include <algorithm>
#include <map>
#include <utility>

namespace tarn {
namespace {

constexpr std::string_view kPart = "part-";
constexpr size_t kUuidBytes = 36;

bool is_hex(char c) {
  return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
}

bool is_uuid(std::string_view text) {
  if (text.size() != kUuidBytes) return false;
  for (size_t i = 0; i < text.size(); ++i) {
    const bool dash = i == 8 || i == 13 || i == 18 || i == 23;
    if (dash ? text[i] != '-' : !is_hex(text[i])) return false;
  }
  return true;
}

/// The job id in the name of a part file; "" for other names.
std::string_view job_of(std::string_view name) {
  if (!name.starts_with(kPart)) return {};
  const size_t dash = name.find_first_not_of("0123456789", kPart.size());
  if (dash == std::string_view::npos || dash == kPart.size() || name[dash] != '-') return {};
  const std::string_view uuid = name.substr(dash + 1).substr(0, kUuidBytes);
  return is_uuid(uuid) ? uuid : std::string_view();
}

}  // namespace

std::vector<std::string> older_parts(const std::vector<DatedPath>& paths) {
  struct Place {
    std::string_view directory;
    std::string_view job;
  };
  const auto place_of = [](std::string_view path) {
    const size_t name = path.rfind('/') + 1;  // 0 without a directory
    return Place{path.substr(0, name), job_of(path.substr(name))};
  };
  std::map<std::string_view, std::map<std::string_view, Instant>> newest;
  for (const DatedPath& file : paths) {
    const Place place = place_of(file.path);
    if (place.job.empty()) continue;
    Instant& at = newest[place.directory].try_emplace(place.job, file.written).first->second;
    at = std::max(at, file.written);
  }
  std::vector<std::string> out;
  for (const DatedPath& file : paths) {
    const Place place = place_of(file.path);
    if (place.job.empty()) continue;
    const auto& jobs = newest[place.directory];
    const auto last = std::max_element(jobs.begin(), jobs.end(), [](const auto& a, const auto& b) {
      return std::pair(a.second, a.first) < std::pair(b.second, b.first);
    });
    if (place.job != last->first) out.push_back(file.path);
  }
  return out;
}

}  // namespace tarn
