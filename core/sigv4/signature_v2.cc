#include "core/sigv4/signature_v2.h"

#include <algorithm>
#include <array>
#include <map>

#include "core/base/digest.h"
#include "core/base/encoding.h"
#include "core/base/str_cat.h"
#include "core/base/text.h"
#include "core/sigv4/canonical.h"

namespace tarn::sigv4 {
namespace {

// Parameters that are signed as parts of the resource; response-* belong to them too.
constexpr std::array<std::string_view, 29> kSubresources = {
    "accelerate",  "acl",         "analytics",    "cors",        "defaultObjectAcl", "delete",
    "inventory",   "lifecycle",   "location",     "logging",     "metrics",          "notification",
    "object-lock", "partNumber",  "policy",       "replication", "requestPayment",   "restore",
    "select",      "select-type", "storageClass", "tagging",     "torrent",          "uploadId",
    "uploads",     "versionId",   "versioning",   "versions",    "website"};

/// Whether a parameter must be signed, by its decoded name; null for none.
using MustSign = bool (*)(std::string_view);

template <typename Names>
bool contains(const Names& names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

/// How a client signs a sub-resource without a value, which may differ from what it sends.
enum class EmptyValue { kAsSent, kBare, kWithEquals };

/// How a client includes the sub-resources of its query in the text to sign.
struct SubresourceForm {
  bool decode_values;
  EmptyValue empty;
};
constexpr std::array kForms = [] {
  std::array<SubresourceForm, 6> out{};
  size_t at = 0;
  for (const EmptyValue empty : {EmptyValue::kAsSent, EmptyValue::kBare, EmptyValue::kWithEquals}) {
    for (const bool decode_values : {true, false}) out[at++] = {decode_values, empty};
  }
  return out;
}();

bool is_subresource(std::string_view name) {
  return contains(kSubresources, name) || name.starts_with("response-");
}

/// Whether a parameter is part of the resource. Readers decode its name first.
bool is_signed(std::string_view raw_name, MustSign must_sign) {
  const std::string name = decoded(raw_name);
  return is_subresource(name) || (must_sign != nullptr && must_sign(name));
}

/// Header values by lower-case name, in the form of the text to sign.
using Fields = std::map<std::string, std::string>;

Fields fields_of_headers(const http::Headers& headers) {
  Fields fields;
  for (const auto& field : headers.all()) {
    std::string name = lower(field.first);
    if (!fields.contains(name)) fields[name] = *canonical_header(headers, name);
  }
  return fields;
}

/// The headers that the query carries as parameters. Values of a repeated name are joined by a
/// comma, as for repeated headers. A header of the request takes precedence.
Fields fields_of_query(std::string_view raw_query) {
  Fields fields;
  for (const auto& [raw_name, raw_value] : raw_query_pairs(raw_query)) {
    const std::string name = lower(decoded(raw_name));
    if (!v2_signs_as_header(name)) continue;
    const std::string value(trimmed(decoded(raw_value)));
    const auto [at, first] = fields.emplace(name, value);
    if (!first) at->second.append(",").append(value);
  }
  return fields;
}

/// "=value", or the form's variant for an empty value.
std::string value_text(std::string_view with_equals, const SubresourceForm& form) {
  if (with_equals.size() <= 1 && form.empty != EmptyValue::kAsSent) {
    return form.empty == EmptyValue::kBare ? "" : "=";
  }
  return form.decode_values ? decoded(with_equals) : std::string(with_equals);
}

std::string subresources_of(std::string_view raw_query, const SubresourceForm& form,
                            MustSign must_sign) {
  std::vector<std::pair<std::string, std::string>> chosen;  // name, text with its '='
  std::string_view rest = raw_query;
  while (!rest.empty()) {
    const std::string_view component = rest.substr(0, rest.find('&'));
    rest.remove_prefix(std::min(component.size() + 1, rest.size()));
    const std::string_view name = component.substr(0, component.find('='));
    if (!is_signed(name, must_sign)) continue;
    chosen.emplace_back(name, str_cat(name, value_text(component.substr(name.size()), form)));
  }
  std::stable_sort(chosen.begin(), chosen.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  std::string out;
  for (const auto& item : chosen) out.append(out.empty() ? "?" : "&").append(item.second);
  return out;
}

/// The paths that a client may have signed. A bucket's may end in a slash or not, whichever is
/// sent; a key's slash is a part of it.
std::vector<std::string> signed_paths(const std::string& bucket, std::string_view raw_path) {
  std::vector<std::string> out = canonical_paths(raw_path);
  if (out.size() > 1) std::swap(out[0], out[1]);  // usually as received, so that comes first
  for (std::string& path : out) path.insert(0, bucket);
  const std::string first = out[0];
  const size_t slash = first.find('/', 1);
  if (first.size() > 1 && slash == std::string::npos) out.push_back(first + '/');
  if (slash > 1 && slash + 1 == first.size()) out.push_back(first.substr(0, slash));
  return out;
}

std::string text_of(const Authorization& authorization, const http::Request& request,
                    const Fields& fields, std::string_view resource) {
  const auto value = [&fields](const char* name) {
    const auto at = fields.find(name);
    return at == fields.end() ? std::string() : at->second;
  };
  std::string date;
  if (authorization.mechanism == Mechanism::kV2Query) {
    date = query_value(request.raw_query(), "Expires").value_or("");
  } else if (!fields.contains("x-amz-date")) {
    date = value("date");
  }
  std::string out = str_cat(request.method, '\n', value("content-md5"), '\n', value("content-type"),
                            '\n', date, '\n');
  for (const auto& [name, text] : fields) {
    if (name.starts_with("x-amz-")) out.append(name).append(":").append(text).append("\n");
  }
  return out.append(resource);
}

}  // namespace

bool v2_signs_as_header(std::string_view name) {
  return name.starts_with("x-amz-") || name == "content-md5" || name == "content-type";
}

std::vector<std::string> v2_strings_to_sign(const Authorization& authorization,
                                            const http::Request& request,
                                            std::string_view bucket_from_host, MustSign must_sign) {
  const std::string bucket = bucket_from_host.empty() ? "" : str_cat('/', bucket_from_host);
  Fields fields = fields_of_headers(request.headers);
  // Always part of the text: a parameter that acts as a header must have been signed.
  if (authorization.mechanism == Mechanism::kV2Query) {
    fields.merge(fields_of_query(request.raw_query()));
  }
  std::vector<std::string> out;
  for (const std::string& path : signed_paths(bucket, request.raw_path())) {
    for (const SubresourceForm& form : kForms) {
      const std::string resource =
          str_cat(path, subresources_of(request.raw_query(), form, must_sign));
      std::string text = text_of(authorization, request, fields, resource);
      if (!contains(out, text)) out.push_back(std::move(text));
    }
  }
  return out;
}

std::string v2_later_parameters(std::string_view raw_query, MustSign must_sign) {
  std::vector<std::string> out;
  for (const auto& [name, value] : raw_query_pairs(raw_query)) {
    if (is_signed(name, must_sign) && !is_subresource(name)) out.push_back(decoded(name));
  }
  return joined(out, ", ");
}

std::string v2_signature_of(std::string_view secret, std::string_view text) {
  return to_base64(hmac_sha1(secret, text));
}

}  // namespace tarn::sigv4
