#include "cli/commands/fs_transfer.h"

#include <nlohmann/json.hpp>

#include "cli/exit_code.h"
#include "core/base/str_cat.h"

namespace tarn::cli {
namespace {

constexpr int64_t kParallelMax = 64;

}  // namespace

void declare_transfer(Command& command, TransferOptions& options) {
  command
      .flag("-r,--recursive", options.recursive,
            "recursive; objects that exist already with the same size and checksum are skipped")
      .option("-p,--parallel", options.parallel, "with -r: number of parallel transfers (8)")
      .flag("--all", options.all, "with -r: also transfer objects that exist already")
      .flag("--size-only", options.size_only,
            "with -r: skip files of the same size without comparing checksums")
      .flag("--presign", options.presign,
            "transfer bytes directly to and from the object store by presigned URLs");
}

void declare_new_object(Command& command, TransferOptions& options) {
  command.flag("--no-clobber", options.no_clobber, "fail if the object exists")
      .option("--content-type", options.content_type,
              "content type of new objects (application/octet-stream)")
      .option("--meta", options.metadata, "metadata of new objects, key=value; may be repeated");
}

size_t workers_of(const TransferOptions& options) {
  if (options.parallel < 1 || options.parallel > kParallelMax)
    throw usage_error(str_cat("--parallel ", options.parallel, ": expected 1 to ", kParallelMax));
  return static_cast<size_t>(options.parallel);
}

ExitCode print_tally(Session& session, std::string_view kind, const Tally& tally) {
  session.out.object(kind,
                     {{"done", tally.done},
                      {"skipped", tally.skipped},
                      {"failed", tally.failed},
                      {"changed", tally.done > 0}},
                     {{"done", std::to_string(tally.done)},
                      {"skipped", std::to_string(tally.skipped)},
                      {"failed", std::to_string(tally.failed)}});
  return tally.failed > 0 ? ExitCode::kPartial : ExitCode::kOk;
}

Uri directory_of(Uri uri) {
  if (!uri.path.empty() && !uri.path.ends_with('/')) uri.path += '/';
  return uri;
}

std::string last_segment(const std::string& path) { return path.substr(path.rfind('/') + 1); }

}  // namespace tarn::cli
