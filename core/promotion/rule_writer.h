// A verdict that is being written, rule by rule.
#pragma once

#include <string>
#include <string_view>
#include <utility>

#include "core/base/str_cat.h"
#include "core/promotion/verdict.h"

namespace tarn::promotion {

/// Adds results of rules to a verdict, whose outcome is that of the worst of them.
class RuleWriter {
 public:
  explicit RuleWriter(Verdict& verdict) : verdict_(verdict) {}

  void add(std::string rule, RuleOutcome outcome, std::string_view code, std::string reason) {
    if (outcome == RuleOutcome::kFail) {
      verdict_.outcome = GateOutcome::kFailed;
    } else if (outcome == RuleOutcome::kPending && verdict_.outcome == GateOutcome::kPassed) {
      verdict_.outcome = GateOutcome::kPending;
    }
    verdict_.rules.push_back({std::move(rule), outcome, std::string(code), std::move(reason)});
  }
  void pass(std::string rule, std::string reason) {
    add(std::move(rule), RuleOutcome::kPass, "", std::move(reason));
  }
  void fail(std::string rule, std::string_view code, std::string reason) {
    add(std::move(rule), RuleOutcome::kFail, code, std::move(reason));
  }
  void pending(std::string rule, std::string_view code, std::string reason) {
    add(std::move(rule), RuleOutcome::kPending, code, std::move(reason));
  }
  /// A rule that is not judged, with a warning.
  void skip(std::string rule, std::string_view code, std::string reason) {
    verdict_.warnings.push_back(str_cat(rule, ": ", reason));
    add(std::move(rule), RuleOutcome::kSkipped, code, std::move(reason));
  }
  /// A rule that passes or fails; the reason is the same for both.
  void judge_bound(std::string rule, bool holds, std::string_view code, std::string reason) {
    if (holds) {
      pass(std::move(rule), std::move(reason));
    } else {
      fail(std::move(rule), code, std::move(reason));
    }
  }

 protected:
  Verdict& verdict_;
};

}  // namespace tarn::promotion
