#include "core/backup/prune.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <set>

#include "core/backup/backup.h"
#include "core/backup/backup_store.h"
#include "core/backup/object_list.h"
#include "core/base/digest.h"
#include "core/base/encoding.h"
#include "core/base/error.h"
#include "core/base/log.h"
#include "core/base/str_cat.h"
#include "core/meta/settings.h"

namespace tarn::backup {
namespace {

constexpr size_t kHoldRandomBytes = 2;
constexpr size_t kRemovalsAtOnce = 1'000;
/// The manifest of a backup that is being removed, under another name: it is written before
/// manifest.json goes and removed last.
constexpr std::string_view kRemoving = "removing.json";
constexpr size_t kManifestBytesMax = size_t{256} << 20;

/// Prints of objects, 8 bytes each: two that agree count as one, which keeps bytes and never
/// removes those of a backup.
class Prints {
 public:
  void add(const ObjectLine& object) { prints_.push_back(print_of(object)); }
  void finish() {
    std::sort(prints_.begin(), prints_.end());
    prints_.erase(std::unique(prints_.begin(), prints_.end()), prints_.end());
  }
  bool contains(const ObjectLine& object) const {
    return std::binary_search(prints_.begin(), prints_.end(), print_of(object));
  }

 private:
  static uint64_t print_of(const ObjectLine& object) {
    const std::string digest = sha256(str_cat(object.repository, " ", object.path));
    uint64_t out = 0;
    std::memcpy(&out, digest.data(), sizeof out);
    return out;
  }
  std::vector<uint64_t> prints_;
};

void read_list(const Target& target, const Manifest& manifest,
               const std::function<void(const ObjectLine&)>& visit) {
  LineReader lines(visit);
  read_part(target, manifest.id, "objects.txt", manifest.listing,
            [&](std::string_view piece) { lines.read(piece); });
  lines.finish();
}

/// The folders of the place that have one of two files.
struct Found {
  std::vector<std::string> complete;
  std::vector<std::string> removing;
};

Found look(const Target& target) {
  Found out{complete_backups(target), {}};
  const std::string prefix = target.part("", "");  // "backups//"
  const std::string folder = prefix.substr(0, prefix.size() - 1);
  target.store->walk(folder, "", [&](const blob::BlobStat& stat) {
    const std::string_view rest = std::string_view(stat.key).substr(folder.size());
    const size_t slash = rest.find('/');
    if (slash != std::string_view::npos && rest.substr(slash + 1) == kRemoving) {
      out.removing.emplace_back(rest.substr(0, slash));
    }
    return true;
  });
  return out;
}

class Prune {
 public:
  Prune(db::Pool& pool, const Target& target, const PruneOptions& options)
      : target_(target), options_(options), backups_(pool) {
    installation_ = meta::Settings(pool).find("installation_id").value_or("unnamed");
  }

  Pruned run() {
    if (options_.keep == 0) throw_invalid("pruning backups: the newest backup must be kept");
    const Instant now = SystemClock().now();
    hold_ = str_cat("prune-", to_iso_basic(now), "-", to_hex(random_bytes(kHoldRandomBytes)));
    // A backup does the same: one that runs may count on objects that it has found in the place.
    if (!options_.dry_run) {
      backups_.begin(
          {.id = hold_, .target = options_.target_name, .copies_objects = true, .lease = kLease});
    }
    try {
      choose(now);
      for (const auto& [id, manifest] : victims_) out_.backups.push_back(id);
      read_kept();
      for (const auto& [id, manifest] : victims_) remove(manifest);
    } catch (...) {
      end();
      throw;
    }
    end();
    return out_;
  }

 private:
  void end() noexcept {
    if (options_.dry_run) return;
    try {
      backups_.abandon(hold_);
    } catch (const std::exception& error) {
      log::warn("prune_not_ended", {{"hold", hold_}, {"message", error.what()}});
    }
  }

  void renew() {
    const auto now = std::chrono::steady_clock::now();
    if (options_.dry_run || now - renewed_ < kRenewInterval) return;
    renewed_ = now;
    if (backups_.renew(hold_, kLease)) return;
    throw Error(ErrorCode::kConflict,
                "pruning backups: it was paused for too long, and a backup may run: run it again");
  }

  void choose(Instant now) {
    const Found found = look(target_);
    for (const std::string& id : found.removing) {
      const auto text = read_small_part(target_, id, kRemoving, kManifestBytesMax);
      if (!text) continue;
      Manifest manifest = parse_manifest(*text);
      if (manifest.installation_id == installation_) victims_.emplace(id, std::move(manifest));
    }
    std::vector<Manifest> own;
    for (const std::string& id : found.complete) {
      if (victims_.contains(id)) continue;
      Manifest manifest = read_manifest(target_, id);
      if (manifest.installation_id == installation_) own.push_back(std::move(manifest));
    }
    if (own.empty()) victims_.clear();  // nothing would be left: whatever was begun waits
    std::sort(own.begin(), own.end(), [](const Manifest& a, const Manifest& b) {
      return std::pair(a.started, a.id) > std::pair(b.started, b.id);
    });
    for (size_t i = 0; i < own.size(); ++i) {
      const bool stays = i < options_.keep ||
                         (options_.older_than && own[i].completed + *options_.older_than > now);
      if (stays) {
        kept_.push_back(std::move(own[i]));
      } else {
        const std::string id = own[i].id;
        victims_.emplace(id, std::move(own[i]));
      }
    }
  }

  /// Every list is read before anything is removed.
  void read_kept() {
    if (victims_.empty()) return;
    for (const Manifest& manifest : kept_) {
      read_list(target_, manifest, [&](const ObjectLine& object) {
        renew();
        needed_.add(object);
      });
    }
    needed_.finish();
  }

  void remove(const Manifest& manifest) {
    if (!options_.dry_run) {
      mark(manifest);
      backups_.release(manifest.id);
    }
    if (manifest.has_objects && target_.store->stat(target_.part(manifest.id, "objects.txt"))) {
      remove_objects(manifest);
    }
    if (options_.dry_run) return;
    for (const std::string_view name : {"database.dump", "objects.txt", "master.key"}) {
      target_.store->remove(target_.part(manifest.id, name));
    }
    target_.store->remove(target_.part(manifest.id, kRemoving));
    log::info("backup_pruned", {{"backup", manifest.id}});
  }

  /// From here on it is no backup any more.
  void mark(const Manifest& manifest) {
    if (!target_.store->stat(target_.part(manifest.id, kRemoving))) {
      PartWriter out(target_, manifest.id, kRemoving);
      out.write(to_json(manifest));
      out.finish();
    }
    target_.store->remove(target_.part(manifest.id, "manifest.json"));
  }

  void remove_objects(const Manifest& manifest) {
    std::vector<std::string> keys;
    const auto flush = [&] {
      renew();
      if (!options_.dry_run) {
        for (const blob::RemovalFailure& failure : target_.store->remove_all(keys)) {
          throw Error(ErrorCode::kUnavailable,
                      str_cat("pruning backups: the place refuses to remove ", failure.key, ": ",
                              failure.message));
        }
      }
      keys.clear();
      if (options_.on_progress) options_.on_progress("objects", out_.objects);
    };
    // Each object counts once in a dry run, though several of the backups list it.
    read_list(target_, manifest, [&](const ObjectLine& object) {
      if (needed_.contains(object)) return;
      const std::string key = target_.objects(installation_, object.repository) + object.path;
      if (!options_.dry_run && !target_.store->stat(key)) return;
      if (options_.dry_run && !counted_.insert(key).second) return;
      ++out_.objects;
      out_.object_bytes += object.size_bytes;
      keys.push_back(key);
      if (keys.size() == kRemovalsAtOnce) flush();
    });
    flush();
  }

  const Target& target_;
  const PruneOptions& options_;
  Backups backups_;
  std::string installation_;
  std::string hold_;
  std::chrono::steady_clock::time_point renewed_{std::chrono::steady_clock::now()};
  std::map<std::string, Manifest> victims_;  ///< by id
  std::vector<Manifest> kept_;
  Prints needed_;
  std::set<std::string> counted_;  ///< of a dry run
  Pruned out_;
};

}  // namespace

Pruned prune_backups(db::Pool& pool, const Target& target, const PruneOptions& options) {
  return Prune(pool, target, options).run();
}

}  // namespace tarn::backup
