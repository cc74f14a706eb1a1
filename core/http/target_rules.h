// Rules for the addresses that requests may go to when a user named the server: public ones, and
// those that the configuration lists.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

struct sockaddr;

namespace tarn::http {

/// An IPv4 or IPv6 address. IPv4-mapped IPv6 is held as the IPv4 address that it means.
struct IpAddress {
  bool v4 = false;
  std::array<uint8_t, 16> bytes{};  ///< network order; the first 4 of an IPv4 address

  /// nullopt for other families.
  static std::optional<IpAddress> of(const sockaddr& address);
  /// "10.0.0.1", "::1"; nullopt for anything else (a host name, "127.1").
  static std::optional<IpAddress> parse(const std::string& text);
  std::string text() const;
};

/// Whether everyone on the internet may own it: not loopback, private, link-local, shared (CGNAT),
/// multicast, reserved or unspecified, and no IPv6 form (6to4, NAT64) of an IPv4 address that is.
bool is_public(const IpAddress& address);

/// Immutable; safe from any thread.
class TargetRules {
 public:
  /// Each of `allowed` is a host ("build.internal"), an address, a network ("10.1.0.0/16"), or one
  /// of the first two with a port ("build.internal:8080", "[fd00::1]:80"). Throws invalid_argument
  /// naming any other entry.
  explicit TargetRules(const std::vector<std::string>& allowed);

  /// Whether a request to `host`, as its URL spells it, may connect to `address`.
  bool permits(std::string_view host, uint16_t port, const IpAddress& address) const;

 private:
  struct Rule {
    std::string host{};              ///< lower case; "" for a network
    IpAddress network{};             ///< of a rule without a host
    unsigned prefix_bits = 0;        ///< of `network`
    std::optional<uint16_t> port{};  ///< absent = every port
  };
  static std::optional<Rule> parse(std::string_view text);
  static bool matches(const Rule& rule, std::string_view host, uint16_t port,
                      const IpAddress& address);

  std::vector<Rule> rules_;
};

}  // namespace tarn::http
