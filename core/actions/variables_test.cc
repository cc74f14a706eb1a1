// Masking of values in output that comes in pieces.
#include "core/actions/variables.h"

#include <map>

#include <gtest/gtest.h>

#include "core/actions/hook_work.h"
#include "core/events/hook_run_store.h"

namespace tarn::actions {
namespace {

const std::map<std::string, std::string> kValues = {{"LAKEFSACTION_TOKEN", "very-secret"},
                                                    {"LAKEFSACTION_LONG", "very-secret-and-long"},
                                                    {"LAKEFSACTION_OTHER", "retina"},
                                                    {"LAKEFSACTION_SAME", "aaa"},
                                                    {"LAKEFSACTION_LINES", "one\ntwo\nthree"}};
const Environment kEnvironment = [](const std::string& name) -> std::optional<std::string> {
  return kValues.at(name);
};

class Masked : public ::testing::Test {
 protected:
  void use(const std::string& name) { variables.resolve("{{ ENV.LAKEFSACTION_" + name + " }}"); }
  /// The text in pieces of `size` bytes; the parts that can be shown are joined by |.
  std::string in_pieces(const std::string& text, size_t size) {
    Masking masking(variables);
    std::string out;
    for (size_t at = 0; at < text.size(); at += size) {
      out += masking.add(std::string_view(text).substr(at, size));
    }
    return out + masking.rest();
  }

  Variables variables{kEnvironment};
};

TEST_F(Masked, ValueThatIsSplitOverPiecesIsMasked) {
  use("TOKEN");
  Masking masking(variables);
  EXPECT_EQ(masking.add("a very-"), "a ");
  EXPECT_EQ(masking.add("sec"), "");
  EXPECT_EQ(masking.add("ret b"), "***** b");
  EXPECT_EQ(masking.rest(), "");
}

TEST_F(Masked, TextThatOnlyBeginsLikeAValueIsShownLater) {
  use("TOKEN");
  Masking masking(variables);
  EXPECT_EQ(masking.add("very-"), "");
  EXPECT_EQ(masking.add("good, very"), "very-good, ");
  EXPECT_EQ(masking.rest(), "very");
}

TEST_F(Masked, PiecesOfEverySizeGiveTheSameText) {
  for (const char* name : {"TOKEN", "LONG", "OTHER", "SAME", "LINES"}) use(name);
  // Values that begin with, contain and overlap others; dmVyeS1zZWNyZXQ= is base64.
  const std::string text =
      "x very-secret-and-long very-secret-and very-secretina aaaaaaa aa one\ntwo\nthree "
      "dmVyeS1zZWNyZXQ= one%0Atwo%0Athree very-secre";
  const std::string whole = variables.masked(text);
  EXPECT_EQ(whole, "x ***** *****-and ***** ***** aa ***** ***** ***** very-secre");
  for (size_t size = 1; size <= text.size(); ++size) EXPECT_EQ(in_pieces(text, size), whole);
}

TEST_F(Masked, OutputThatIsReadBeforeItsEndShowsNoPartOfAValue) {
  use("TOKEN");
  HookOutput output(variables);
  output.add("token: very-se");
  EXPECT_EQ(output.text(), "token: ");
  output.add("cret\n");
  EXPECT_EQ(output.text(), "token: *****\n");
  output.add("very");
  EXPECT_EQ(output.text(), "token: *****\n");
  output.end();
  EXPECT_EQ(output.text(), "token: *****\nvery");
}

TEST_F(Masked, OutputIsBoundedAndItsEndShownWhileItGrows) {
  HookOutput output(variables);
  for (int i = 0; i < 30'000; ++i) output.add("line " + std::to_string(i) + "\n");
  EXPECT_LE(output.text().size(), events::kHookOutputBytesMax);
  EXPECT_NE(output.text().find("bytes left out"), std::string::npos);
  EXPECT_TRUE(output.text().ends_with("line 29999\n"));
}

}  // namespace
}  // namespace tarn::actions
