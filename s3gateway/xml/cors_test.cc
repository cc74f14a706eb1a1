#include "s3gateway/xml/cors.h"

#include <gtest/gtest.h>

#include "core/base/str_cat.h"
#include "s3gateway/wire/errors.h"

namespace tarn::s3::xml {
namespace {

const std::string kGood = "<AllowedOrigin>*</AllowedOrigin><AllowedMethod>GET</AllowedMethod>";

std::string with(const std::string& rule) {
  return str_cat("<CORSConfiguration><CORSRule>", rule, "</CORSRule></CORSConfiguration>");
}

std::string refusal_of(const std::string& document) {
  try {
    parse_cors(document);
    return "";
  } catch (const Refusal& refusal) {
    return std::string(refusal.failure().code);
  }
}

TEST(CorsDocument, IsReadAndWritten) {
  const std::string text = with(
      "<ID>a</ID><AllowedMethod>GET</AllowedMethod><AllowedMethod>PUT</AllowedMethod>"
      "<AllowedOrigin>https://*.test</AllowedOrigin><AllowedOrigin>null</AllowedOrigin>"
      "<AllowedHeader>x-amz-*</AllowedHeader><ExposeHeader>ETag</ExposeHeader>"
      "<MaxAgeSeconds>3000</MaxAgeSeconds>");
  const CorsRules rules = parse_cors(text);
  ASSERT_EQ(rules.size(), 1u);
  EXPECT_EQ(rules[0], (CorsRule{.allowed_origins = {"https://*.test", "null"},
                                .allowed_methods = {"GET", "PUT"},
                                .allowed_headers = {"x-amz-*"},
                                .exposed_headers = {"ETag"},
                                .max_age = std::chrono::seconds{3000},
                                .id = "a"}));
  EXPECT_EQ(parse_cors(cors_to_xml(rules)), rules);
  EXPECT_NE(cors_to_xml(rules).find(text.substr(text.find("<CORSRule>"))), std::string::npos);
}

TEST(CorsDocument, RefusesWhatS3Refuses) {
  for (const std::string& malformed :
       {std::string("<CORSConfiguration></CORSConfiguration>"), std::string("<CORS></CORS>"),
        std::string(), with(""), with("<AllowedOrigin>*</AllowedOrigin>"),
        with("<AllowedMethod>GET</AllowedMethod>"), with(kGood + "<Other>1</Other>"),
        with(kGood + "<MaxAgeSeconds>-1</MaxAgeSeconds>"),
        with(kGood + "<MaxAgeSeconds>x</MaxAgeSeconds>"),
        with(kGood + "<MaxAgeSeconds>99999999999</MaxAgeSeconds>"),
        with(kGood + "<MaxAgeSeconds>1</MaxAgeSeconds><MaxAgeSeconds>1</MaxAgeSeconds>")}) {
    EXPECT_EQ(refusal_of(malformed), "MalformedXML") << malformed;
  }
  for (const char* invalid :
       {"<AllowedMethod>PATCH</AllowedMethod>", "<AllowedMethod>get</AllowedMethod>",
        "<AllowedOrigin>https://*.*</AllowedOrigin>", "<AllowedOrigin></AllowedOrigin>",
        "<AllowedOrigin>https://a b</AllowedOrigin>", "<AllowedOrigin>a&#10;b</AllowedOrigin>",
        "<AllowedHeader>*-*</AllowedHeader>", "<ExposeHeader>x-*</ExposeHeader>",
        "<ExposeHeader>a: b</ExposeHeader>", "<AllowedHeader>a,b</AllowedHeader>"}) {
    EXPECT_EQ(refusal_of(with(kGood + invalid)), "InvalidRequest") << invalid;
  }
}

TEST(CorsDocument, HasLimits) {
  const auto rules = [](size_t count) {
    std::string text = "<CORSConfiguration>";
    for (size_t i = 0; i < count; ++i) text += "<CORSRule>" + kGood + "</CORSRule>";
    return text + "</CORSConfiguration>";
  };
  EXPECT_EQ(parse_cors(rules(kCorsRulesMax)).size(), kCorsRulesMax);
  EXPECT_EQ(refusal_of(rules(kCorsRulesMax + 1)), "MalformedXML");
  const auto with_id = [](size_t characters) {
    return with(kGood + "<ID>" + std::string(characters, 'x') + "</ID>");
  };
  EXPECT_EQ(refusal_of(with_id(kCorsIdCharactersMax)), "");
  EXPECT_EQ(refusal_of(with_id(kCorsIdCharactersMax + 1)), "InvalidRequest");
}

}  // namespace
}  // namespace tarn::s3::xml
