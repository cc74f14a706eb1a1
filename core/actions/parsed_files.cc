#include "core/actions/parsed_files.h"

#include <utility>

namespace tarn::actions {
namespace {

using Pairs = std::vector<std::pair<std::string, std::string>>;

size_t bytes_of(const Pairs& pairs) {
  size_t bytes = 0;
  for (const auto& [name, value] : pairs) {
    bytes += sizeof(Pairs::value_type) + name.size() + value.size();
  }
  return bytes;
}

size_t bytes_of(const WebhookHook& hook) {
  return hook.url.size() + hook.secret.size() + bytes_of(hook.query_params) +
         bytes_of(hook.headers);
}
size_t bytes_of(const AirflowHook& hook) {
  return hook.url.size() + hook.dag_id.size() + hook.username.size() + hook.password.size() +
         hook.dag_conf.size();
}
size_t bytes_of(const LuaHook& hook) {
  return hook.script.size() + hook.script_path.size() + hook.args.size();
}

}  // namespace

size_t memory_bytes(const ActionFile& file) {
  size_t bytes = sizeof(ActionFile) + file.name.size() + file.description.size();
  for (const auto& [event, globs] : file.events) {
    bytes += sizeof(event) + sizeof(globs);
    // A compiled pattern has steps of about 64 bytes per character.
    for (const Glob& glob : globs) bytes += sizeof(Glob) + 64 * glob.pattern().size();
  }
  for (const Hook& hook : file.hooks) {
    bytes += sizeof(Hook) + hook.id.size() + hook.description.size() + hook.condition.size();
    bytes += std::visit([](const auto& work) { return bytes_of(work); }, hook.work);
  }
  return bytes;
}

std::shared_ptr<const ActionFile> ParsedFiles::find(const std::string& key) {
  MutexLock lock(mutex_);
  const auto at = files_.find(key);
  return at == files_.end() ? nullptr : at->second;
}

void ParsedFiles::put(const std::string& key, std::shared_ptr<const ActionFile> file) {
  const size_t bytes = memory_bytes(*file) + key.size();
  if (bytes > bytes_max_) return;
  MutexLock lock(mutex_);
  if (files_.contains(key)) return;
  if (files_.size() >= kParsedFilesMax || bytes_ + bytes > bytes_max_) {
    files_.clear();
    bytes_ = 0;
  }
  files_.emplace(key, std::move(file));
  bytes_ += bytes;
}

size_t ParsedFiles::bytes() {
  MutexLock lock(mutex_);
  return bytes_;
}

}  // namespace tarn::actions
