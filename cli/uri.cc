#include "cli/uri.h"

#include <algorithm>
#include <array>
#include <optional>

#include "cli/exit_code.h"
#include "core/base/str_cat.h"

namespace tarn::cli {
namespace {

constexpr std::array<std::string_view, 2> kSchemes{"tarn://", "lakefs://"};

std::optional<Uri> full_uri(std::string_view text) {
  for (std::string_view scheme : kSchemes) {
    if (!text.starts_with(scheme)) continue;
    std::string_view rest = text.substr(scheme.size());
    Uri uri;
    const size_t first = rest.find('/');
    uri.repository = rest.substr(0, first);
    if (uri.repository.empty())
      throw usage_error(str_cat("reading \"", text, "\": no repository in it"));
    if (first == std::string_view::npos) return uri;
    rest.remove_prefix(first + 1);
    const size_t second = rest.find('/');
    uri.ref = rest.substr(0, second);
    if (second != std::string_view::npos) uri.path = rest.substr(second + 1);
    if (uri.ref.empty() && !uri.path.empty()) {
      throw usage_error(
          str_cat("reading \"", text, "\": no branch, tag or commit before the path"));
    }
    return uri;
  }
  if (text.find("://") != std::string_view::npos) {
    throw usage_error(str_cat("reading \"", text, "\": not a tarn:// URI"));
  }
  return std::nullopt;
}

/// A full URI, or a short name appended to the base URI.
std::optional<Uri> full_uri(std::string_view text, const Defaults& defaults) {
  const bool has_base = defaults.repository.empty() && !defaults.base_uri.empty();
  if (!has_base || text.find("://") != std::string_view::npos) return full_uri(text);
  return full_uri(str_cat(defaults.base_uri, text));
}

/// Without an argument there is nothing to quote.
std::string reading(std::string_view text) {
  return text.empty() ? "" : str_cat("reading \"", text, "\": ");
}

void need_repository(const Uri& uri, std::string_view text) {
  if (!uri.repository.empty()) return;
  const bool short_name = !text.empty() && text.find("://") == std::string_view::npos;
  throw usage_error(
      str_cat(reading(text), "which repository? ",
              short_name ? str_cat("write tarn://", text, " if its first part is one, else give ")
                         : std::string("give "),
              "tarn://repository/..., --repo or TARN_REPO; tarn use REPOSITORY sets a default"));
}

void need_ref(const Uri& uri, std::string_view text) {
  if (!uri.ref.empty()) return;
  throw usage_error(str_cat(
      reading(text),
      "which branch, tag or commit? give tarn://repository/ref/..., --branch or TARN_BRANCH"));
}

/// Refuses a short path, which may have been meant as a ref.
void need_ref_of_path(const Uri& uri, std::string_view text) {
  if (!uri.ref.empty() || uri.path.empty()) return need_ref(uri, text);
  throw usage_error(str_cat(reading(text), "which branch, tag or commit? write tarn://",
                            uri.repository, "/REF/", text, " for the path, tarn://", uri.repository,
                            '/', text, text.ends_with('/') ? "" : "/",
                            " if it is the branch, tag or commit; tarn use ", uri.repository,
                            "/BRANCH, --branch or TARN_BRANCH sets a default"));
}

void refuse_path(const Uri& uri, std::string_view text) {
  if (uri.path.empty()) return;
  throw usage_error(str_cat("reading \"", text, "\": a path has no meaning here"));
}

/// The letters that names of repositories have.
bool may_name_repository(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-';
  });
}

/// Whether a word names a repository: there is no default one in which it could name anything else.
bool names_repository(std::string_view text, const Defaults& defaults) {
  return defaults.repository.empty() && defaults.base_uri.empty() && may_name_repository(text);
}

/// Where --branch counts it is the ref of a URI without one.
Uri with_branch(Uri uri, const Defaults& defaults) {
  const bool counts = defaults.repository.empty() || defaults.repository == uri.repository;
  if (uri.ref.empty() && counts) uri.ref = defaults.branch;
  return uri;
}

}  // namespace

Uri repository_uri(std::string_view text, const Defaults& defaults) {
  Uri uri = full_uri(text, defaults)
                .value_or(Uri{std::string(text.empty() ? defaults.repository : text), "", ""});
  need_repository(uri, text);
  const size_t slash = uri.repository.find('/');
  if (!uri.ref.empty() || slash != std::string::npos) {
    throw usage_error(str_cat("reading \"", text, "\": only a repository has meaning here: write ",
                              uri.repository.substr(0, slash)));
  }
  return uri;
}

Uri ref_uri(std::string_view text, const Defaults& defaults) {
  Uri uri = full_uri(text, defaults)
                .value_or(Uri{defaults.repository,
                              std::string(text.empty() ? defaults.branch : text), ""});
  need_repository(uri, text);
  need_ref(uri, text);
  refuse_path(uri, text);
  return uri;
}

Uri optional_ref_uri(std::string_view text, const Defaults& defaults) {
  if (names_repository(text, defaults)) {
    return with_branch({std::string(text), "", ""}, defaults);
  }
  const std::optional<Uri> full = full_uri(text, defaults);
  if (full && full->ref.empty()) return with_branch(*full, defaults);
  const bool has_default = !defaults.repository.empty() || !defaults.base_uri.empty();
  if (!full && text.empty() && has_default) {
    return with_branch({defaults.repository, "", ""}, defaults);
  }
  return ref_uri(text, defaults);
}

Uri prefix_uri(std::string_view text, const Defaults& defaults) {
  Uri uri = full_uri(text, defaults)
                .value_or(Uri{defaults.repository, defaults.branch, std::string(text)});
  need_repository(uri, text);
  need_ref_of_path(uri, text);
  return uri;
}

Uri optional_prefix_uri(std::string_view text, const Defaults& defaults) {
  if (names_repository(text, defaults)) {
    return with_branch({std::string(text), "", ""}, defaults);
  }
  const std::optional<Uri> full = full_uri(text, defaults);
  const bool has_repository = full || !defaults.repository.empty();
  const bool has_path = full ? !full->ref.empty() : !text.empty();
  if (!has_repository || has_path) return prefix_uri(text, defaults);
  return with_branch(full.value_or(Uri{defaults.repository, "", ""}), defaults);
}

Uri object_uri(std::string_view text, const Defaults& defaults) {
  Uri uri = prefix_uri(text, defaults);
  if (uri.path.empty())
    throw usage_error(str_cat("reading \"", text, "\": which object? the path is missing"));
  return uri;
}

Uri any_uri(std::string_view text, const Defaults& defaults) {
  if (names_repository(text, defaults)) return {std::string(text), "", ""};
  Uri uri = full_uri(text, defaults)
                .value_or(Uri{defaults.repository, defaults.branch, std::string(text)});
  need_repository(uri, text);
  if (!uri.path.empty()) need_ref_of_path(uri, text);
  return uri;
}

std::string to_string(const Uri& uri) {
  std::string out = str_cat("tarn://", uri.repository);
  if (!uri.ref.empty()) out += str_cat('/', uri.ref);
  if (!uri.path.empty()) out += str_cat('/', uri.path);
  return out;
}

}  // namespace tarn::cli
