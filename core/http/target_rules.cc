#include "core/http/target_rules.h"

#include <algorithm>
#include <charconv>
#include <cstring>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include "core/base/error.h"
#include "core/base/str_cat.h"
#include "core/base/text.h"
#include "core/http/message.h"

namespace tarn::http {
namespace {

constexpr unsigned kV4Bits = 32;
constexpr unsigned kV6Bits = 128;

struct Network {
  const char* address;
  unsigned bits;
};

// Sources: the IANA registries of special-purpose addresses.
constexpr Network kNotPublicV4[] = {
    {"0.0.0.0", 8},                                               // this network, unspecified
    {"10.0.0.0", 8},                                              // private
    {"100.64.0.0", 10},                                           // shared by carriers (CGNAT)
    {"127.0.0.0", 8},                                             // loopback
    {"169.254.0.0", 16},                                          // link-local; cloud metadata
    {"172.16.0.0", 12},                                           // private
    {"192.0.0.0", 24},                                            // protocol assignments
    {"192.0.2.0", 24},                                            // documentation
    {"192.88.99.0", 24},                                          // relays of 6to4
    {"192.168.0.0", 16},                                          // private
    {"198.18.0.0", 15},                                           // benchmarks
    {"198.51.100.0", 24}, {"203.0.113.0", 24}, {"224.0.0.0", 4},  // multicast
    {"240.0.0.0", 4},                                             // reserved, broadcast
};
// In IPv6 only global unicast is public, except for these networks.
constexpr Network kGlobalUnicast = {"2000::", 3};
constexpr Network kNotPublicV6[] = {
    {"2001::", 23},  // Teredo, benchmarks, ORCHID
    {"2001:db8::", 32},
    {"3fff::", 20},
};
// These addresses contain an IPv4 address at the given bytes.
constexpr Network k6to4 = {"2002::", 16};
constexpr size_t k6to4Offset = 2;
constexpr Network kNat64 = {"64:ff9b::", 96};
constexpr size_t kNat64Offset = 12;
constexpr std::array<uint8_t, 12> kMappedPrefix = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};

IpAddress v4_at(const std::array<uint8_t, 16>& bytes, size_t offset) {
  IpAddress address{.v4 = true};
  std::copy_n(bytes.begin() + static_cast<ptrdiff_t>(offset), 4, address.bytes.begin());
  return address;
}

IpAddress from_v6(const std::array<uint8_t, 16>& bytes) {
  if (std::equal(kMappedPrefix.begin(), kMappedPrefix.end(), bytes.begin())) {
    return v4_at(bytes, kMappedPrefix.size());
  }
  return {.v4 = false, .bytes = bytes};
}

bool is_within(const IpAddress& address, const IpAddress& network, unsigned bits) {
  if (address.v4 != network.v4) return false;
  const unsigned whole = bits / 8;
  if (std::memcmp(address.bytes.data(), network.bytes.data(), whole) != 0) return false;
  if (bits % 8 == 0) return true;
  const auto mask = static_cast<uint8_t>(0xff << (8 - bits % 8));
  return (address.bytes[whole] & mask) == (network.bytes[whole] & mask);
}

bool is_within(const IpAddress& address, const Network& network) {
  return is_within(address, *IpAddress::parse(network.address), network.bits);
}

template <typename Number>
std::optional<Number> number(std::string_view text, Number max) {
  Number value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || value > max) return std::nullopt;
  return value;
}

bool is_host_name(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), [](unsigned char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '.' || c == '_' ||
           c >= 0x80;
  });
}

/// "[::1]" without its brackets; without a trailing dot, which does not change the name.
std::string_view bare(std::string_view host) {
  if (host.size() >= 2 && host.front() == '[' && host.back() == ']') {
    return host.substr(1, host.size() - 2);
  }
  if (host.ends_with('.')) host.remove_suffix(1);
  return host;
}

}  // namespace

std::optional<IpAddress> IpAddress::of(const sockaddr& address) {
  std::array<uint8_t, 16> bytes{};
  if (address.sa_family == AF_INET) {
    const auto& in = reinterpret_cast<const sockaddr_in&>(address);
    std::memcpy(bytes.data(), &in.sin_addr, 4);
    return IpAddress{.v4 = true, .bytes = bytes};
  }
  if (address.sa_family != AF_INET6) return std::nullopt;
  const auto& in6 = reinterpret_cast<const sockaddr_in6&>(address);
  std::memcpy(bytes.data(), &in6.sin6_addr, 16);
  return from_v6(bytes);
}

std::optional<IpAddress> IpAddress::parse(const std::string& text) {
  std::array<uint8_t, 16> bytes{};
  if (::inet_pton(AF_INET, text.c_str(), bytes.data()) == 1) {
    return IpAddress{.v4 = true, .bytes = bytes};
  }
  if (::inet_pton(AF_INET6, text.c_str(), bytes.data()) == 1) return from_v6(bytes);
  return std::nullopt;
}

std::string IpAddress::text() const {
  char out[INET6_ADDRSTRLEN] = "";
  ::inet_ntop(v4 ? AF_INET : AF_INET6, bytes.data(), out, sizeof out);
  return out;
}

bool is_public(const IpAddress& address) {
  const auto holds = [&](const Network& network) { return is_within(address, network); };
  if (address.v4) return std::none_of(std::begin(kNotPublicV4), std::end(kNotPublicV4), holds);
  if (holds(k6to4)) return is_public(v4_at(address.bytes, k6to4Offset));
  if (holds(kNat64)) return is_public(v4_at(address.bytes, kNat64Offset));
  return holds(kGlobalUnicast) &&
         std::none_of(std::begin(kNotPublicV6), std::end(kNotPublicV6), holds);
}

TargetRules::TargetRules(const std::vector<std::string>& allowed) {
  for (const std::string& text : allowed) {
    const std::optional<Rule> rule = parse(text);
    if (!rule) {
      throw_invalid(str_cat("\"", text,
                            "\" is no host, address or network, as in build.internal, "
                            "build.internal:8080, 10.1.2.3 or 10.1.0.0/16"));
    }
    rules_.push_back(*rule);
  }
}

std::optional<TargetRules::Rule> TargetRules::parse(std::string_view text) {
  if (const size_t slash = text.find('/'); slash != std::string_view::npos) {
    const auto network = IpAddress::parse(std::string(text.substr(0, slash)));
    if (!network) return std::nullopt;
    const auto bits = number<unsigned>(text.substr(slash + 1), network->v4 ? kV4Bits : kV6Bits);
    if (!bits) return std::nullopt;
    return Rule{.network = *network, .prefix_bits = *bits};
  }
  Rule rule;
  std::string host(text);
  const size_t colon = text.rfind(':');
  const bool bracketed = text.starts_with('[');
  if (colon != std::string_view::npos && !IpAddress::parse(host) &&
      (!bracketed || text[colon - 1] == ']')) {
    const auto port = number<uint16_t>(text.substr(colon + 1), UINT16_MAX);
    if (!port) return std::nullopt;
    rule.port = *port;
    host = text.substr(0, colon);
  }
  host = lower(bare(host));
  if (const auto address = IpAddress::parse(host)) {
    rule.network = *address;
    rule.prefix_bits = address->v4 ? kV4Bits : kV6Bits;
    return rule;
  }
  if (bracketed || !is_host_name(host)) return std::nullopt;
  rule.host = host;
  return rule;
}

bool TargetRules::matches(const Rule& rule, std::string_view host, uint16_t port,
                          const IpAddress& address) {
  if (rule.port && *rule.port != port) return false;
  if (rule.host.empty()) return is_within(address, rule.network, rule.prefix_bits);
  return equal_ignoring_case(rule.host, bare(host));
}

bool TargetRules::permits(std::string_view host, uint16_t port, const IpAddress& address) const {
  return is_public(address) || std::any_of(rules_.begin(), rules_.end(), [&](const Rule& rule) {
           return matches(rule, host, port, address);
         });
}

}  // namespace tarn::http
