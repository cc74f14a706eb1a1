// Names of repositories, refs and objects on the command line.
#pragma once

#include <string>
#include <string_view>

namespace tarn::cli {

/// tarn://repository[/ref[/path]]. Nothing is percent-decoded: the path is the key as it is.
struct Uri {
  std::string repository;
  std::string ref;   ///< "" = absent
  std::string path;  ///< "" = absent, or the root
  bool operator==(const Uri&) const = default;
};

/// Defaults from --repo and --branch (or their environment variables) for names that are not full
/// URIs.
struct Defaults {
  std::string repository;
  std::string branch;
  std::string base_uri{};  ///< LAKECTL_BASE_URI: used as the prefix of short names instead
};

/// Each accepts a full URI (tarn:// or lakefs://) or the short form, and throws a usage error that
/// says what is missing.
Uri repository_uri(std::string_view text,
                   const Defaults& defaults);  ///< URI or "repository"; "" = the default
Uri ref_uri(std::string_view text,
            const Defaults& defaults);  ///< URI or "ref"; "" = the default branch
/// The same as ref_uri, where the repository's default branch will do: the ref may be absent. A
/// word names a repository if there is no default one. --branch counts in the default repository
/// alone, or in any if there is none.
Uri optional_ref_uri(std::string_view text, const Defaults& defaults);
Uri object_uri(std::string_view text,
               const Defaults& defaults);  ///< URI or "path" in the default branch
Uri prefix_uri(std::string_view text,
               const Defaults& defaults);  ///< as object_uri; the path may be empty
/// The same as prefix_uri; without a path the ref may be absent, and a word names a repository, as
/// for optional_ref_uri.
Uri optional_prefix_uri(std::string_view text, const Defaults& defaults);
/// A full URI with as many parts as it has, or "path" in the default branch, or a repository if
/// there is no default one; "" = the defaults. The ref may be absent.
Uri any_uri(std::string_view text, const Defaults& defaults);

/// "tarn://repository/ref/path", the parts that are set.
std::string to_string(const Uri& uri);

}  // namespace tarn::cli
