#include "core/auth/permissions.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>
#include <optional>

#include <arpa/inet.h>

#include "core/auth/resource.h"
#include "core/base/str_cat.h"

namespace tarn::auth {
namespace {

constexpr std::string_view kUserPlaceholder = "${user}";

std::string with_user(std::string pattern, std::string_view user) {
  for (size_t at = 0; (at = pattern.find(kUserPlaceholder, at)) != std::string::npos;
       at += user.size()) {
    pattern.replace(at, kUserPlaceholder.size(), user);
  }
  return pattern;
}

/// The part of an ARN before its resource, with the colon; the resource may hold colons too.
size_t resource_offset(std::string_view arn) {
  size_t at = 0;
  for (int i = 0; i < 5; ++i) {
    at = arn.find(':', at);
    if (at == std::string_view::npos) return std::string_view::npos;
    ++at;
  }
  return at;
}

/// Compares the parts before the resource literally and calls `match` for the rest: only the
/// resource may contain wildcards.
bool resource_matches(bool (*match)(std::string_view, std::string_view), std::string_view pattern,
                      std::string_view resource) {
  if (pattern == kEverything) return true;
  const size_t split = resource_offset(pattern);
  if (split == std::string_view::npos || resource_offset(resource) != split) return false;
  return pattern.substr(0, split) == resource.substr(0, split) &&
         match(pattern.substr(split), resource.substr(split));
}

struct Address {
  std::array<uint8_t, 16> bytes{};
  size_t bits = 0;
};

std::optional<Address> parse_address(std::string_view text) {
  const std::string copy(text);
  Address address;
  if (inet_pton(AF_INET, copy.c_str(), address.bytes.data()) == 1) {
    address.bits = 32;
    return address;
  }
  if (inet_pton(AF_INET6, copy.c_str(), address.bytes.data()) != 1) return std::nullopt;
  address.bits = 128;
  constexpr std::array<uint8_t, 12> kMappedV4 = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};
  if (std::equal(kMappedV4.begin(), kMappedV4.end(), address.bytes.begin())) {
    Address v4{{}, 32};
    std::copy(address.bytes.begin() + 12, address.bytes.end(), v4.bytes.begin());
    return v4;
  }
  return address;
}

struct Block {
  Address address;
  size_t prefix = 0;
};

std::optional<Block> parse_block(std::string_view text) {
  const size_t slash = text.find('/');
  const std::optional<Address> address = parse_address(text.substr(0, slash));
  if (!address) return std::nullopt;
  if (slash == std::string_view::npos) return Block{*address, address->bits};
  const std::string_view digits = text.substr(slash + 1);
  size_t prefix = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), prefix);
  if (error != std::errc() || end != digits.data() + digits.size() || prefix > address->bits) {
    return std::nullopt;
  }
  return Block{*address, prefix};
}

bool any_value_matches(std::string_view op, const std::vector<std::string>& values,
                       std::string_view address) {
  const bool blocks = op == "IpAddress" || op == "NotIpAddress";
  return std::any_of(values.begin(), values.end(), [&](const std::string& value) {
    return blocks ? in_address_block(address, value) : wildcard_match(value, address);
  });
}

/// Whether for each of `wanted` there is one in `held` that matches at least the same texts.
bool all_covered(const std::set<std::string_view>& wanted, const std::set<std::string_view>& held) {
  return std::all_of(wanted.begin(), wanted.end(), [&](std::string_view rest) {
    return held.count("*") != 0 || held.count(rest) != 0 || held.count(str_cat("*", rest)) != 0;
  });
}

/// Adds the suffixes of each rest up to its first slash: they follow every possible continuation of
/// a ref's name, which has no slash.
std::set<std::string_view> with_ends_of_names(const std::set<std::string_view>& rests) {
  std::set<std::string_view> out;
  for (const std::string_view rest : rests) {
    for (size_t at = 0; at <= std::min(rest.find('/'), rest.size()); ++at)
      out.insert(rest.substr(at));
  }
  return out;
}

}  // namespace

bool wildcard_match(std::string_view pattern, std::string_view text) {
  // On a mismatch the last '*' takes one more character; earlier ones never need to.
  size_t p = 0;
  size_t t = 0;
  size_t star = std::string_view::npos;
  size_t resume = 0;
  while (t < text.size()) {
    if (p < pattern.size() && pattern[p] == '*') {
      star = p++;
      resume = t;
    } else if (p < pattern.size() && (pattern[p] == '?' || pattern[p] == text[t])) {
      ++p;
      ++t;
    } else if (star != std::string_view::npos) {
      p = star + 1;
      t = ++resume;
    } else {
      return false;
    }
  }
  while (p < pattern.size() && pattern[p] == '*') ++p;
  return p == pattern.size();
}

bool wildcard_matches_all(std::string_view pattern, std::string_view prefix) {
  return pattern.ends_with('*') && wildcard_match(pattern, prefix);
}

bool wildcard_matches_some(std::string_view pattern, std::string_view prefix) {
  // Every rest of a pattern matches some text.
  return !wildcard_rests(pattern, prefix).empty();
}

std::vector<std::string_view> wildcard_rests(std::string_view pattern, std::string_view prefix) {
  std::vector<bool> here(pattern.size() + 1);
  here[0] = true;
  const auto pass_stars = [&](std::vector<bool>& at) {
    for (size_t p = 0; p < pattern.size(); ++p) {
      if (at[p] && pattern[p] == '*') at[p + 1] = true;
    }
  };
  pass_stars(here);
  for (const char c : prefix) {
    std::vector<bool> next(pattern.size() + 1);
    for (size_t p = 0; p < pattern.size(); ++p) {
      if (!here[p]) continue;
      if (pattern[p] == '*') {
        next[p] = true;
      } else if (pattern[p] == '?' || pattern[p] == c) {
        next[p + 1] = true;
      }
    }
    pass_stars(next);
    here = std::move(next);
  }
  std::vector<std::string_view> out;
  for (size_t p = 0; p < here.size(); ++p) {
    if (here[p]) out.push_back(pattern.substr(p));
  }
  return out;
}

bool is_address_block(std::string_view text) { return parse_block(text).has_value(); }

bool in_address_block(std::string_view address, std::string_view block) {
  const std::optional<Address> at = parse_address(address);
  const std::optional<Block> in = parse_block(block);
  if (!at || !in || at->bits != in->address.bits) return false;
  for (size_t bit = 0; bit < in->prefix; ++bit) {
    const auto mask = static_cast<uint8_t>(0x80 >> (bit % 8));
    if (((at->bytes[bit / 8] ^ in->address.bytes[bit / 8]) & mask) != 0) return false;
  }
  return true;
}

Permissions::Permissions(std::string_view user,
                         const std::vector<std::vector<Statement>>& policies) {
  for (const std::vector<Statement>& policy : policies) {
    for (const Statement& statement : policy) {
      Rule rule{statement.effect, {}, {}, statement.conditions};
      for (size_t i = 0; i < kActionCount; ++i) {
        const std::string_view name = name_of(static_cast<Action>(i));
        rule.actions[i] =
            std::any_of(statement.actions.begin(), statement.actions.end(),
                        [&](const std::string& pattern) { return wildcard_match(pattern, name); });
      }
      for (const std::string& resource : statement.resources) {
        rule.resources.push_back(with_user(resource, user));
      }
      rules_.push_back(std::move(rule));
    }
  }
}

bool changes_accounts(Action action) {
  const std::string_view name = name_of(action);
  constexpr std::string_view kAccounts = "auth:";
  if (!name.starts_with(kAccounts)) return false;
  const std::string_view verb = name.substr(kAccounts.size());
  return !verb.starts_with("Read") && !verb.starts_with("List");
}

template <typename Decide>
std::optional<Permissions::Decision> Permissions::limited(Action action,
                                                          const Decide& decide) const {
  if (!limits_) return std::nullopt;
  if (changes_accounts(action)) return Decision::kDenied;
  const Decision decision = decide(*limits_);
  return decision == Decision::kAllowed ? decide(*of_user_) : decision;
}

bool Permissions::Rule::applies(Action action, std::string_view client_address) const {
  if (!actions[static_cast<size_t>(action)]) return false;
  if (conditions.empty()) return true;
  if (!parse_address(client_address)) return effect == Statement::Effect::kDeny;
  for (const auto& [op, fields] : conditions) {
    const bool negated = op == "NotIpAddress" || op == "StringNotLike";
    for (const auto& [field, values] : fields) {
      if (any_value_matches(op, values, client_address) == negated) return false;
    }
  }
  return true;
}

Permissions::Decision Permissions::decide(Action action, std::string_view resource,
                                          std::string_view client_address) const {
  if (const auto decision = limited(action, [&](const Permissions& one) {
        return one.decide(action, resource, client_address);
      })) {
    return *decision;
  }
  const std::string bare = without_ref(resource);
  Decision decision = Decision::kNotAllowed;
  for (const Rule& rule : rules_) {
    if (!rule.applies(action, client_address)) continue;
    if (std::none_of(rule.resources.begin(), rule.resources.end(), [&](const std::string& pattern) {
          return resource_matches(wildcard_match, pattern, resource) ||
                 (!bare.empty() && resource_matches(wildcard_match, pattern, bare));
        })) {
      continue;
    }
    if (rule.effect == Statement::Effect::kDeny) return Decision::kDenied;
    decision = Decision::kAllowed;
  }
  return decision;
}

Permissions::Decision Permissions::decide_on_all_objects(Action action, std::string_view repository,
                                                         std::string_view client_address) const {
  if (const auto decision = limited(action, [&](const Permissions& one) {
        return one.decide_on_all_objects(action, repository, client_address);
      })) {
    return *decision;
  }
  const std::string objects = object_arn(repository, "");
  const std::string refs = ref_arn(repository, "");
  Decision decision = Decision::kNotAllowed;
  for (const Rule& rule : rules_) {
    if (!rule.applies(action, client_address)) continue;
    for (const std::string& pattern : rule.resources) {
      if (rule.effect == Statement::Effect::kDeny) {
        if (resource_matches(wildcard_matches_some, pattern, objects) ||
            resource_matches(wildcard_matches_some, pattern, refs)) {
          return Decision::kDenied;
        }
      } else if (resource_matches(wildcard_matches_all, pattern, objects)) {
        decision = Decision::kAllowed;
      }
    }
  }
  return decision;
}

Permissions::Rests Permissions::Rule::rests(std::string_view prefix) const {
  Rests out;
  for (const std::string& pattern : resources) {
    if (pattern == kEverything) out.insert(kEverything);
    const size_t split = resource_offset(pattern);
    if (split == std::string_view::npos || pattern.compare(0, split, prefix, 0, split) != 0)
      continue;
    const auto found =
        wildcard_rests(std::string_view(pattern).substr(split), prefix.substr(split));
    out.insert(found.begin(), found.end());
  }
  return out;
}

Permissions::Decision Permissions::decide_below(Action action, std::string_view prefix,
                                                std::string_view client_address) const {
  if (const auto decision = limited(action, [&](const Permissions& one) {
        return one.decide_below(action, prefix, client_address);
      })) {
    return *decision;
  }
  const std::string bare = without_ref(prefix);
  Decision decision = Decision::kNotAllowed;
  for (const Rule& rule : rules_) {
    if (!rule.applies(action, client_address)) continue;
    Rests below = rule.rests(prefix);
    if (!bare.empty()) below.merge(rule.rests(bare));
    if (rule.effect == Statement::Effect::kDeny) {
      if (!below.empty()) return Decision::kDenied;
    } else if (below.count("*") != 0) {
      decision = Decision::kAllowed;
    }
  }
  return decision;
}

Permissions::Rests Permissions::Rule::rests_at(std::string_view repository,
                                               const RefScope& scope) const {
  Rests out = rests(ref_arn(repository, scope.ref));
  // A '*' matches every continuation of a name; other rests may match only some names.
  if (scope.all_that_begin)
    std::erase_if(out, [](std::string_view rest) { return !rest.starts_with('*'); });
  out.merge(rests(repository_arn(repository)));
  return out;
}

Permissions::Decision Permissions::decide_on_source(Action action, std::string_view repository,
                                                    const RefScope& source,
                                                    std::string_view destination,
                                                    std::string_view client_address) const {
  if (const auto decision = limited(action, [&](const Permissions& one) {
        return one.decide_on_source(action, repository, source, destination, client_address);
      })) {
    return *decision;
  }
  const std::string from = ref_arn(repository, source.ref);
  const std::string to = ref_arn(repository, destination);
  const bool anywhere = destination.empty();
  Rests held;
  for (const Rule& rule : rules_) {
    if (rule.effect == Statement::Effect::kAllow && rule.applies(action, client_address))
      held.merge(rule.rests_at(repository, source));
  }
  for (const Rule& rule : rules_) {
    if (rule.effect == Statement::Effect::kDeny) {
      if (rule.applies(action, client_address) &&
          !all_covered(rule.rests(from), rule.rests_at(repository, {destination, anywhere}))) {
        return Decision::kDenied;
      }
      continue;
    }
    // Ignore the rule's condition: it may hold when the destination is read.
    if (!rule.actions[static_cast<size_t>(action)]) continue;
    Rests here = rule.rests_at(repository, source);
    here.insert(held.begin(), held.end());
    const Rests there = rule.rests(to);
    if (!all_covered(anywhere ? with_ends_of_names(there) : there, here))
      return Decision::kNotAllowed;
  }
  return Decision::kAllowed;
}

}  // namespace tarn::auth
