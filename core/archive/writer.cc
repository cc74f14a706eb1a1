#include "core/archive/writer.h"

#include "core/base/error.h"

namespace tarn::archive {
namespace {

bool begins_with_drive(std::string_view name) {
  if (name.size() < 2 || name[1] != ':') return false;
  return (name[0] >= 'a' && name[0] <= 'z') || (name[0] >= 'A' && name[0] <= 'Z');
}

}  // namespace

std::unique_ptr<Writer> make_writer(Format format) {
  switch (format) {
    case Format::kTar:
      return make_tar_writer();
    case Format::kZip:
      return make_zip_writer();
  }
  check_failed("archive::Format", __FILE__, __LINE__);
}

bool is_safe_name(std::string_view name) {
  constexpr std::string_view kForbidden("\\\0", 2);
  if (name.find_first_of(kForbidden) != std::string_view::npos || begins_with_drive(name)) {
    return false;
  }
  if (name.ends_with('/')) name.remove_suffix(1);
  for (;;) {
    const size_t slash = name.find('/');
    const std::string_view segment = name.substr(0, slash);
    if (segment.empty() || segment == "." || segment == "..") return false;
    if (slash == std::string_view::npos) return true;
    name.remove_prefix(slash + 1);
  }
}

}  // namespace tarn::archive
