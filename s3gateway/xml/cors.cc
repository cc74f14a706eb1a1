#include "s3gateway/xml/cors.h"

#include <algorithm>
#include <limits>

#include "core/base/str_cat.h"
#include "core/base/text.h"
#include "s3gateway/wire/errors.h"
#include "s3gateway/wire/object_tags.h"
#include "s3gateway/wire/range.h"
#include "s3gateway/xml/reader.h"
#include "s3gateway/xml/writer.h"

namespace tarn::s3::xml {
namespace {

/// Adds a value of a list; `problem` is what is wrong with it.
void add_value(std::vector<std::string>& list, std::string value, std::string_view element,
               const std::optional<std::string>& problem) {
  if (problem) {
    throw Refusal(failure::kInvalidRequest,
                  str_cat(element, " \"", value, "\" of a CORS rule ", *problem, '.'));
  }
  list.push_back(std::move(value));
}

/// Looser than check_cors_origin, as S3: "null" is the origin of a page in a file.
std::optional<std::string> check_bucket_origin(std::string_view origin) {
  const bool visible =
      std::all_of(origin.begin(), origin.end(), [](char c) { return c > ' ' && c != 0x7f; });
  if (!origin.empty() && visible && std::count(origin.begin(), origin.end(), '*') <= 1) {
    return std::nullopt;
  }
  return "must be an origin, with one * at most";
}

std::chrono::seconds max_age_from(Reader& in) {
  const auto seconds = parse_decimal(in.text());
  if (!seconds || *seconds > std::numeric_limits<int32_t>::max()) {
    in.fail("has a MaxAgeSeconds that is no number of seconds");
  }
  return std::chrono::seconds{*seconds};
}

CorsRule parse_cors_rule(Reader& in) {
  CorsRule rule;
  while (const auto child = in.next_child()) {
    if (*child == "ID") {
      rule.id = in.text();
    } else if (*child == "AllowedOrigin") {
      std::string origin = in.text();
      const auto problem = check_bucket_origin(origin);
      add_value(rule.allowed_origins, std::move(origin), *child, problem);
    } else if (*child == "AllowedMethod") {
      std::string method = in.text();
      const auto problem = check_cors_method(method);
      add_value(rule.allowed_methods, std::move(method), *child, problem);
    } else if (*child == "AllowedHeader" || *child == "ExposeHeader") {
      const bool allowed = *child == "AllowedHeader";
      std::string header = in.text();
      const auto problem = check_cors_header(header, allowed);
      add_value(allowed ? rule.allowed_headers : rule.exposed_headers, std::move(header), *child,
                problem);
    } else if (*child == "MaxAgeSeconds" && !rule.max_age) {
      rule.max_age = max_age_from(in);
    } else {
      in.fail("has an unknown element in a CORSRule");
    }
  }
  if (rule.allowed_origins.empty() || rule.allowed_methods.empty()) {
    in.fail("has a CORSRule without AllowedOrigin or AllowedMethod");
  }
  if (characters_of(rule.id) > kCorsIdCharactersMax) {
    throw Refusal(failure::kInvalidRequest, str_cat("The ID of a CORS rule has more than ",
                                                    kCorsIdCharactersMax, " characters."));
  }
  return rule;
}

void write_values(Writer& out, std::string_view element, const std::vector<std::string>& values) {
  for (const std::string& value : values) out.element(element, value);
}

}  // namespace

CorsRules parse_cors(std::string_view document) {
  CorsRules rules;
  Reader in(document);
  in.enter_root("CORSConfiguration");
  while (const auto child = in.next_child()) {
    if (*child != "CORSRule") in.fail("has something other than a CORSRule");
    if (rules.size() == kCorsRulesMax) in.fail("has more than 100 rules");
    rules.push_back(parse_cors_rule(in));
  }
  in.finish();
  if (rules.empty()) in.fail("has no CORSRule");
  return rules;
}

std::string cors_to_xml(const CorsRules& rules) {
  Writer out("CORSConfiguration");
  for (const CorsRule& rule : rules) {
    out.open("CORSRule");
    if (!rule.id.empty()) out.element("ID", rule.id);
    write_values(out, "AllowedMethod", rule.allowed_methods);
    write_values(out, "AllowedOrigin", rule.allowed_origins);
    write_values(out, "AllowedHeader", rule.allowed_headers);
    write_values(out, "ExposeHeader", rule.exposed_headers);
    if (rule.max_age) {
      out.element("MaxAgeSeconds",
                  static_cast<uint64_t>(
                      std::chrono::duration_cast<std::chrono::seconds>(*rule.max_age).count()));
    }
    out.close("CORSRule");
  }
  return out.finish();
}

}  // namespace tarn::s3::xml
