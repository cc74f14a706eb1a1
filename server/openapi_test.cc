// Compares the OpenAPI description with the table of routes, in both directions.
#include "server/openapi.h"

#include <map>
#include <set>
#include <string>
#include <utility>

#include <gtest/gtest.h>
#include <yaml-cpp/yaml.h>

#include "server/api/json/document.h"
#include "server/api/route.h"

namespace tarn::server {
namespace {

const YAML::Node& description() {
  static const YAML::Node kRoot = YAML::LoadFile(TARN_SOURCE_DIRECTORY "/docs/api/openapi.yaml");
  return kRoot;
}

YAML::Node operation_of(const api::Route& route) {
  std::string method(api::name_of(route.method));
  for (char& c : method) c = static_cast<char>(c - 'A' + 'a');
  return description()["paths"][std::string(route.pattern)][method];
}

/// Parameters by name, those of the path too; the shared ones are resolved.
std::map<std::string, YAML::Node> parameters_of(const api::Route& route) {
  std::map<std::string, YAML::Node> out;
  const YAML::Node path = description()["paths"][std::string(route.pattern)];
  for (const YAML::Node& list : {path["parameters"], operation_of(route)["parameters"]}) {
    for (YAML::Node parameter : list) {
      if (const YAML::Node reference = parameter["$ref"]) {
        const std::string& name = reference.Scalar();
        parameter = description()["components"]["parameters"][name.substr(name.rfind('/') + 1)];
      }
      out[parameter["name"].Scalar()] = parameter;
    }
  }
  return out;
}

TEST(OpenApi, HasEveryRouteAndNothingElse) {
  size_t described = 0;
  std::set<std::string> ids;
  for (const auto& path : description()["paths"]) {
    for (const auto& member : path.second) {
      if (member.first.Scalar() == "parameters") continue;
      ++described;
      EXPECT_TRUE(ids.insert(member.second["operationId"].Scalar()).second);
    }
  }
  EXPECT_EQ(described, api::routes().size());
  for (const api::Route& route : api::routes()) {
    ASSERT_TRUE(operation_of(route)) << route.operation;
    EXPECT_EQ(operation_of(route)["operationId"].Scalar(), route.operation);
  }
}

TEST(OpenApi, SaysWhatNeedsNoAccount) {
  for (const api::Route& route : api::routes()) {
    const YAML::Node security = operation_of(route)["security"];
    EXPECT_EQ(security.IsDefined(), !route.access.needs_account()) << route.operation;
  }
}

TEST(OpenApi, DescribesTheParametersThatRoutesCheck) {
  for (const api::Route& route : api::routes()) {
    const std::map<std::string, YAML::Node> described = parameters_of(route);
    for (size_t i = 0; i < route.input.parameters.count; ++i) {
      const std::string name(route.input.parameters.list[i].name);
      ASSERT_TRUE(described.contains(name)) << route.operation << ": " << name;
    }
    for (size_t open = route.pattern.find('{'); open != std::string_view::npos;
         open = route.pattern.find('{', open + 1)) {
      const std::string name(
          route.pattern.substr(open + 1, route.pattern.find('}', open) - open - 1));
      ASSERT_TRUE(described.contains(name)) << route.operation << ": " << name;
    }
  }
}

TEST(OpenApi, DescribesTheBodiesThatRoutesTake) {
  for (const api::Route& route : api::routes()) {
    if (route.handler == &api::not_implemented) continue;
    const YAML::Node body = operation_of(route)["requestBody"];
    using Body = api::Input::Body;
    if (route.input.body == Body::kJson || route.input.body == Body::kOptionalJson) {
      ASSERT_TRUE(body["content"]["application/json"]) << route.operation;
    }
    if (route.input.body == Body::kStream) {
      ASSERT_TRUE(body["content"]["multipart/form-data"] || body["content"]["application/yaml"] ||
                  body["content"]["application/x-ndjson"])
          << route.operation;
    }
  }
}

TEST(OpenApi, EveryReferenceResolves) {
  const std::function<void(const YAML::Node&)> visit = [&](const YAML::Node& node) {
    if (node.IsMap()) {
      for (const auto& member : node) {
        if (member.first.Scalar() == "$ref") {
          const std::string reference = member.second.Scalar();
          YAML::Node at = description();
          size_t from = 2;
          while (from < reference.size()) {
            const size_t slash = std::min(reference.find('/', from), reference.size());
            // Unlike an assignment, which would change the description.
            at.reset(std::as_const(at)[reference.substr(from, slash - from)]);
            ASSERT_TRUE(at.IsDefined()) << reference;
            from = slash + 1;
          }
        } else {
          visit(member.second);
        }
      }
    } else if (node.IsSequence()) {
      for (const auto& item : node) visit(item);
    }
  };
  visit(description()["paths"]);
  visit(description()["components"]);
}

TEST(OpenApi, IsServedAsJson) {
  const auto document = api::json::Document::parse(openapi_json());
  EXPECT_EQ(document.root().at("openapi").text(), "3.0.3");
  EXPECT_EQ(document.root().at("info").at("version").text(), "1");
  EXPECT_EQ(document.root()
                .at("components")
                .at("parameters")
                .at("amount")
                .at("schema")
                .at("maximum")
                .integer(),
            1000);
}

}  // namespace
}  // namespace tarn::server
