#include "core/promotion/model_card.h"

#include <gtest/gtest.h>

namespace tarn::promotion {
namespace {

using Fields = std::vector<std::string>;

TEST(ModelCard, FieldsAreThoseOfFrontMatterOrOfTheDocument) {
  const Fields fields = {"intended_use", "limits.age"};
  const std::string yaml = "intended_use: reading digits\nlimits: {age: adults}\n";
  for (const auto& [path, text] : std::vector<std::pair<std::string, std::string>>{
           {"MODEL_CARD.md", "---\n" + yaml + "---\n# Digits\n"},
           {"README.md", "---\r\nintended_use: x\r\nlimits:\r\n  age: y\r\n---\r\n"},
           {"card.yaml", yaml},
           {"card.json", R"({"intended_use": "x", "limits": {"age": ["y"]}})"},
           {"card.yml", "intended_use: x\nlimits.age: y\n"}}) {
    const CardFacts facts = read_card(path, text, fields);
    EXPECT_EQ(facts.problem, "") << path;
    EXPECT_EQ(facts.missing, Fields()) << path;
  }
}

TEST(ModelCard, EmptyFieldsAreMissing) {
  for (const char* value : {"", "''", "'  '", "[]", "{}", "null", "~", "['', null]", "{a: ''}"}) {
    const CardFacts facts = read_card("card.yaml", std::string("data: ") + value + "\n", {"data"});
    EXPECT_EQ(facts.missing, Fields{"data"}) << value;
  }
  EXPECT_EQ(read_card("card.yaml", "data: 0\n", {"data"}).missing, Fields());
  EXPECT_EQ(read_card("card.yaml", "other: x\n", {"data", "use"}).missing, (Fields{"data", "use"}));
  EXPECT_EQ(read_card("card.yaml", "", {"data"}).missing, Fields{"data"});
}

TEST(ModelCard, WhatReadersUnderstandDifferentlyIsAProblem) {
  const std::pair<const char*, const char*> cases[] = {
      {"card.md", "# Model card\n\nintended_use: x\n"},
      {"card.md", "---\nintended_use: x\n"},
      {"card.md", " ---\nintended_use: x\n---\n"},
      {"card.yaml", "a: 1\na: 2\n"},
      {"card.json", R"({"a": {"b": 1, "b": 2}})"},
      {"card.yaml", "a: [1\n"},
      {"card.yaml", "a: 1\n---\na: 2\n"},
      {"card.yaml", "a: \xff\n"},
  };
  for (const auto& [path, text] : cases)
    EXPECT_NE(read_card(path, text, {"a"}).problem, "") << text;
}

}  // namespace
}  // namespace tarn::promotion
