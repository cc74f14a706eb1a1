#include "core/auth/permissions.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>
#include <optional>

#include <arpa/inet.h>

#include "core/auth/resource.h"

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

/// Only the resource part has wildcards.
bool resource_matches(std::string_view pattern, std::string_view resource) {
  if (pattern == kEverything) return true;
  const size_t split = resource_offset(pattern);
  if (split == std::string_view::npos || resource_offset(resource) != split) return false;
  return pattern.substr(0, split) == resource.substr(0, split) &&
         wildcard_match(pattern.substr(split), resource.substr(split));
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

Permissions::Decision Permissions::decide(Action action, std::string_view resource,
                                          std::string_view client_address) const {
  const bool address_known = parse_address(client_address).has_value();
  const std::string bare = without_ref(resource);
  Decision decision = Decision::kNotAllowed;
  for (const Rule& rule : rules_) {
    const bool denies = rule.effect == Statement::Effect::kDeny;
    if (!rule.actions[static_cast<size_t>(action)]) continue;
    if (std::none_of(rule.resources.begin(), rule.resources.end(), [&](const std::string& pattern) {
          return resource_matches(pattern, resource) ||
                 (!bare.empty() && resource_matches(pattern, bare));
        })) {
      continue;
    }
    bool applies = true;
    if (!rule.conditions.empty() && !address_known) {
      applies = denies;
    } else {
      for (const auto& [op, fields] : rule.conditions) {
        const bool negated = op == "NotIpAddress" || op == "StringNotLike";
        for (const auto& [field, values] : fields) {
          applies = applies && any_value_matches(op, values, client_address) != negated;
        }
      }
    }
    if (!applies) continue;
    if (denies) return Decision::kDenied;
    decision = Decision::kAllowed;
  }
  return decision;
}

}  // namespace tarn::auth
