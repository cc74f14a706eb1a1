#include "core/search/sieve.h"

#include <algorithm>
#include <utility>

namespace tarn::search {
namespace {

/// Narrows the bounds of a size or time; open bounds are unlimited.
template <typename Number>
void add_bounds(Comparison comparison, Number value, Number& min, Number& max) {
  switch (comparison) {
    case Comparison::kUnequal:
      return;
    case Comparison::kEqual:
      min = max = value;
      return;
    case Comparison::kLess:
    case Comparison::kLessOrEqual:
      max = value;
      return;
    case Comparison::kGreater:
    case Comparison::kGreaterOrEqual:
      min = value;
      return;
  }
}

void add_pair_items(const Condition& condition, std::vector<Item>& out) {
  const auto* text = std::get_if<std::string>(&condition.value);
  const bool pair = text != nullptr && condition.comparison == Comparison::kEqual;
  const std::string& key = condition.field.key;
  if (condition.field.kind == Field::Kind::kTag) {
    out.push_back(pair ? tag_pair_item(key, *text) : tag_key_item(key));
  } else {
    out.push_back(pair ? metadata_pair_item(key, *text) : metadata_key_item(key));
  }
}

/// Items of a text condition that must hold.
void add_condition_items(const Condition& condition, std::vector<Item>& out) {
  const Field::Kind kind = condition.field.kind;
  if (kind == Field::Kind::kMetadata || kind == Field::Kind::kTag)
    return add_pair_items(condition, out);
  if (const Glob* glob = std::get_if<Glob>(&condition.value)) {
    if (kind == Field::Kind::kPath) add_glob_items(*glob, 0, out);
    return;
  }
  const auto* text = std::get_if<std::string>(&condition.value);
  if (text == nullptr || condition.comparison != Comparison::kEqual) return;
  if (kind == Field::Kind::kPath) {
    add_text_items(*text, true, out);
  } else {
    add_type_item(*text, out);
  }
}

Requirement requirement_of(const Condition& condition, bool negated) {
  Requirement requirement;
  const Comparison comparison = negated ? opposite(condition.comparison) : condition.comparison;
  if (const auto* bytes = std::get_if<uint64_t>(&condition.value)) {
    add_bounds(comparison, *bytes, requirement.size_min_bytes, requirement.size_max_bytes);
  } else if (const auto* moment = std::get_if<Instant>(&condition.value)) {
    add_bounds(comparison, to_millis(*moment), requirement.mtime_min_ms, requirement.mtime_max_ms);
  } else if (!negated) {
    add_condition_items(condition, requirement.items);
  }
  return requirement;
}

}  // namespace

/// The steps for all or any of the parts; none if every range passes.
std::vector<Sieve::Step> Sieve::joined(const Expression& expression, bool negated, bool all) {
  Step out{.requirement = {}, .all = all};
  for (const Expression& part : expression.parts) {
    std::vector<Step> steps = steps_of(part, negated);
    if (steps.empty() && !all) return {};
    for (Step& step : steps) out.parts.push_back(std::move(step));
  }
  if (out.parts.empty()) return {};
  return {std::move(out)};
}

/// One step, or none if every range passes.
std::vector<Sieve::Step> Sieve::steps_of(const Expression& expression, bool negated) {
  switch (expression.kind) {
    case Expression::Kind::kNot:
      return steps_of(expression.parts[0], !negated);
    case Expression::Kind::kAll:
      return joined(expression, negated, !negated);
    case Expression::Kind::kAny:
      return joined(expression, negated, negated);
    case Expression::Kind::kCondition:
      break;
  }
  Requirement requirement = requirement_of(expression.condition, negated);
  if (requirement.empty()) return {};
  return {Step{.requirement = std::move(requirement)}};
}

Sieve::Sieve(const Query& query) {
  if (query.where) steps_ = steps_of(query.where->expression, false);
  if (Requirement requirement(query); !requirement.empty())
    steps_.push_back({.requirement = std::move(requirement)});
}

bool Sieve::Step::passes(const RangeSummary& range) const {
  if (parts.empty()) return range.may_meet(requirement);
  const auto one = [&](const Step& part) { return part.passes(range); };
  return all ? std::all_of(parts.begin(), parts.end(), one)
             : std::any_of(parts.begin(), parts.end(), one);
}

bool Sieve::passes(const RangeSummary& range) const {
  return std::all_of(steps_.begin(), steps_.end(),
                     [&](const Step& step) { return step.passes(range); });
}

}  // namespace tarn::search
