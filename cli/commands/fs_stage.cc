// tarn fs stage
#include <nlohmann/json.hpp>

#include "cli/commands/commands.h"
#include "cli/object_record.h"
#include "cli/session.h"
#include "core/base/str_cat.h"

namespace tarn::cli {
namespace {

constexpr int64_t kNotGiven = -1;

struct StageOptions {
  std::string object;
  std::string location;
  std::string checksum;
  std::string content_type;
  std::vector<std::string> metadata;
  int64_t size = kNotGiven;
  int64_t mtime = kNotGiven;

  void declare(Command& command) {
    command.argument("OBJECT", object, "tarn://repository/branch/path, or a path in --branch")
        .option("--location", location, "address of the bytes: s3://bucket/key")
        .option("--size", size, "in bytes")
        .option("--checksum", checksum, "MD5 in hex, or the ETag that the store gives")
        .option("--content-type", content_type, "(application/octet-stream)")
        .option("--mtime", mtime, "modification time, in seconds since 1970 (now)")
        .option("--meta", metadata, "metadata of the object, key=value; may be repeated");
  }
};

void run_stage(Session& session, const StageOptions& options) {
  const Uri uri = session.object(options.object);
  if (options.location.empty() || options.checksum.empty() || options.size < 0) {
    throw usage_error(str_cat("staging ", to_string(uri),
                              ": --location, --checksum and --size (0 or more) are needed"));
  }
  Json body{{"physical_address", options.location},
            {"checksum", options.checksum},
            {"size_bytes", options.size},
            {"metadata", metadata_from(options.metadata)}};
  if (!options.content_type.empty()) body["content_type"] = options.content_type;
  if (options.mtime != kNotGiven) body["mtime"] = options.mtime;
  Request request =
      put_request(api_path({"repositories", uri.repository, "branches", uri.ref, "objects"}), body);
  request.query = {{"path", uri.path}};
  print_object(session.out, uri, session.client.call(request));
}

}  // namespace

void add_fs_stage_command(CommandTree& tree) {
  tree.add<StageOptions>("fs stage", "Stage an object whose bytes are in the store already",
                         run_stage);
}

}  // namespace tarn::cli
