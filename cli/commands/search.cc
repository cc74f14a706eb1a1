// tarn search
#include <nlohmann/json.hpp>

#include "cli/commands/commands.h"
#include "cli/session.h"
#include "core/base/str_cat.h"

namespace tarn::cli {
namespace {

struct Options {
  std::string ref;
  std::string glob;
  std::string min_size;
  std::string max_size;
  std::string modified_after;
  std::string modified_before;
  std::string content_type;
  std::vector<std::string> metadata;
  int64_t amount = 0;
};

void declare(Command& command, Options& options) {
  command
      .optional_argument("PREFIX", options.ref,
                         "tarn://repository/ref or tarn://repository/ref/path to search below")
      .option("--glob", options.glob, "a pattern over the whole path: 'data/**/*.png'")
      .option("--min-size", options.min_size, "in bytes, inclusive")
      .option("--max-size", options.max_size, "in bytes, inclusive")
      .option("--modified-after", options.modified_after,
              "at or after: 2026-11-20, 2026-11-20T08:00:00Z or seconds since 1970")
      .option("--modified-before", options.modified_before, "before, as above")
      .option("--content-type", options.content_type, "text/csv or image/*")
      .option("--metadata", options.metadata, "key or key=value; again for more")
      .option("-n,--amount", options.amount, "at most so many");
}

Request request_for(const Uri& uri, const Options& options) {
  Request request{
      .path = api_path({"repositories", uri.repository, "refs", uri.ref, "objects", "search"})};
  const auto add = [&](const char* name, const std::string& value) {
    if (!value.empty()) request.query.emplace_back(name, value);
  };
  add("prefix", uri.path);
  add("glob", options.glob);
  add("min_size", options.min_size);
  add("max_size", options.max_size);
  add("modified_after", options.modified_after);
  add("modified_before", options.modified_before);
  add("content_type", options.content_type);
  for (const std::string& condition : options.metadata) add("metadata", condition);
  return request;
}

ExitCode run(Session& session, const Options& options) {
  const Uri uri = session.prefix(options.ref);
  if (options.amount < 0) throw usage_error("searching: --amount cannot be negative");
  ListWriter rows = session.out.list("ObjectList", {"path", "size", "modified", "content type"});
  int64_t left = options.amount == 0 ? -1 : options.amount;
  session.client.each(request_for(uri, options), [&](const Json& item) {
    rows.add(item,
             {item.value("path", ""), std::to_string(item.value("size_bytes", int64_t{0})),
              time_in_words(item.value("mtime", int64_t{0})), item.value("content_type", "")});
    return --left != 0;
  });
  rows.finish();
  return ExitCode::kOk;
}

}  // namespace

void add_search_command(CommandTree& tree) {
  tree.add<Options>("search", "Find objects by path, size, time, type and metadata", declare, run);
}

}  // namespace tarn::cli
