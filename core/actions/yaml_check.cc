#include "core/actions/yaml_check.h"

#include <sstream>

#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/yaml.h>

#include "core/actions/action_file.h"
#include "core/base/error.h"
#include "core/base/str_cat.h"
#include "core/base/yaml_marks.h"

namespace tarn::actions {
namespace {

/// Validates events of the YAML parser and stores nothing.
class Checker final : public YAML::EventHandler {
 public:
  void OnDocumentStart(const YAML::Mark&) override {}
  void OnDocumentEnd() override {}
  void OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) override { value(mark, anchor); }
  /// Never called: the parser rejects an alias without an anchor, and this class rejects anchors.
  void OnAlias(const YAML::Mark&, YAML::anchor_t) override {}
  void OnScalar(const YAML::Mark& mark, const std::string&, YAML::anchor_t anchor,
                const std::string&) override {
    value(mark, anchor);
  }
  void OnSequenceStart(const YAML::Mark& mark, const std::string&, YAML::anchor_t anchor,
                       YAML::EmitterStyle::value) override {
    open(mark, anchor);
  }
  void OnSequenceEnd() override { --depth_; }
  void OnMapStart(const YAML::Mark& mark, const std::string&, YAML::anchor_t anchor,
                  YAML::EmitterStyle::value) override {
    open(mark, anchor);
  }
  void OnMapEnd() override { --depth_; }

 private:
  [[noreturn]] static void fail(const YAML::Mark& mark, std::string_view why) {
    throw_invalid(str_cat("line ", mark.line + 1, ": ", why));
  }

  void value(const YAML::Mark& mark, YAML::anchor_t anchor) {
    if (anchor != YAML::NullAnchor) {
      fail(mark, "anchors (&name) are not accepted, write the value out");
    }
    if (++values_ > kActionValuesMax) {
      fail(mark, str_cat("there are more than ", kActionValuesMax, " values"));
    }
  }
  void open(const YAML::Mark& mark, YAML::anchor_t anchor) {
    value(mark, anchor);
    if (++depth_ > kActionNestingMax) {
      fail(mark, str_cat("is nested deeper than ", kActionNestingMax));
    }
  }

  size_t values_ = 0;
  size_t depth_ = 0;
};

}  // namespace

void check_yaml(const std::string& text) {
  if (has_too_many_yaml_marks(text)) {
    throw_invalid(str_cat("has more than ", kYamlMarksMax, " brackets, quotes and separators"));
  }
  std::istringstream in(text);
  YAML::Parser parser(in);
  Checker checker;
  if (!parser.HandleNextDocument(checker) || parser.HandleNextDocument(checker)) {
    throw_invalid("one YAML document was expected");
  }
}

}  // namespace tarn::actions
