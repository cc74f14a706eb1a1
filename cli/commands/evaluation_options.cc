#include "cli/commands/evaluation_options.h"

#include <array>
#include <filesystem>

#include "cli/exit_code.h"
#include "core/base/quantity.h"
#include "core/base/str_cat.h"

namespace tarn::cli {
namespace {

constexpr std::array<tarn::Unit, 5> kSizes{
    {{"", 1}, {"B", 1}, {"KiB", 1 << 10}, {"MiB", 1 << 20}, {"GiB", 1 << 30}}};

}  // namespace

void SandboxOptions::declare(Command& command) {
  command.option("--python", python, "runs programs that end with .py (/usr/bin/python3)")
      .option("--with", with,
              "a folder that programs find at the same path, read-only: a virtual environment, "
              "libraries; may be repeated")
      .option("--device", devices, "a device for programs: /dev/nvidia0; may be repeated");
}

SandboxSettings SandboxOptions::settings() const {
  SandboxSettings out{.with = with, .devices = devices};
  if (!python.empty()) out.python = python;
  for (const std::string& path : with) {
    if (!path.starts_with('/') || !std::filesystem::is_directory(path))
      throw usage_error(str_cat("reading --with ", path, ": name a folder, from / on"));
  }
  for (const std::string& path : devices) {
    if (!path.starts_with("/dev/") || !std::filesystem::exists(path))
      throw usage_error(str_cat("reading --device ", path, ": name a device of this machine"));
  }
  return out;
}

uint64_t parse_size(const std::string& text) {
  const auto size = parse_quantity(text, kSizes);
  if (!size || *size == 0)
    throw usage_error(str_cat("reading size \"", text, "\": expected 512MiB or 2GiB"));
  return *size;
}

}  // namespace tarn::cli
