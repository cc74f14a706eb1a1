// tarn search
#include <nlohmann/json.hpp>

#include "cli/commands/commands.h"
#include "cli/session.h"

namespace tarn::cli {
namespace {

struct SearchOptions {
  std::string ref;
  std::string glob;
  std::string min_size;
  std::string max_size;
  std::string modified_after;
  std::string modified_before;
  std::string content_type;
  std::vector<std::string> metadata;
  std::string where;
  std::string sort;
  int64_t amount = 0;

  void declare(Command& command) {
    command
        .optional_argument(
            "PREFIX", ref,
            "tarn://repository/ref or tarn://repository/ref/path to search below; repository and "
            "ref may be patterns: 'tarn://*/exp-*'")
        .option("--glob", glob, "a pattern of whole paths: 'data/**/*.png'")
        .option("--min-size", min_size, "in bytes, inclusive")
        .option("--max-size", max_size, "in bytes, inclusive")
        .option("--modified-after", modified_after,
                "at or after: 2026-11-20, 2026-11-20T08:00:00Z or seconds since 1970")
        .option("--modified-before", modified_before, "before, as above")
        .option("--content-type", content_type, "text/csv or image/*")
        .option("--metadata", metadata, "user metadata, key or key=value; may be repeated")
        .option("--where", where, "conditions: 'loss < 0.02 and (tag.stage = prod or size > 1MiB)'")
        .option("--sort", sort,
                "path, size, modified, or the key of a number; then desc: 'loss desc'")
        .option("-n,--amount", amount, "maximum number of results");
  }
};

bool is_pattern(std::string_view word) {
  return word.find_first_of("*?[{") != std::string_view::npos;
}

/// Whether the search covers more than one ref.
bool is_wide(const Uri& uri) { return is_pattern(uri.repository) || is_pattern(uri.ref); }

Request request_for(const Uri& uri, const SearchOptions& options) {
  Request request;
  if (is_wide(uri)) {
    request.path = api_path({"objects", "search"});
    request.query = {{"repository", uri.repository}, {"ref", uri.ref}};
  } else {
    request.path = api_path({"repositories", uri.repository, "refs", uri.ref, "objects", "search"});
  }
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
  add("where", options.where);
  add("sort", options.sort);
  for (const std::string& condition : options.metadata) add("metadata", condition);
  return request;
}

void run_search(Session& session, const SearchOptions& options) {
  const Uri uri = is_pattern(options.ref) ? session.prefix(options.ref)
                                          : session.prefix_or_default(options.ref);
  if (options.amount < 0) throw usage_error("searching: --amount cannot be negative");
  ListWriter rows = session.out.list("ObjectList", {"path", "size", "modified", "content type"});
  int64_t left = options.amount == 0 ? -1 : options.amount;
  const bool wide = is_wide(uri);
  session.client.each(request_for(uri, options), [&](const Json& item) {
    const std::string path = item.value("path", "");
    rows.add(item,
             {wide ? to_string({item.value("repository", ""), item.value("ref", ""), path}) : path,
              std::to_string(item.value("size_bytes", int64_t{0})),
              time_in_words(item.value("mtime", int64_t{0})), item.value("content_type", "")});
    return --left != 0;
  });
  rows.finish();
}

}  // namespace

void add_search_command(CommandTree& tree) {
  tree.add<SearchOptions>("search", "Find objects by path, size, time, type, metadata and tags",
                          run_search);
}

}  // namespace tarn::cli
