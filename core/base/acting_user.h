// The user on whose behalf a thread works.
#pragma once

#include <set>
#include <string>
#include <vector>

namespace tarn {

/// The user on whose behalf this thread works: hooks call back as that user, and what is staged is
/// that user's work. Scopes nest; without one there is no user. One thread.
class ActingUser {
 public:
  /// `address`: the IP of the user's request; "" = unknown, for work that an earlier request
  /// started. `limits`: see below; there is no default, since who goes on with
  /// stored work for a user needs those that were stored with it.
  ActingUser(std::string name, std::string address, std::string limits);
  ~ActingUser();
  ActingUser(const ActingUser&) = delete;
  ActingUser& operator=(const ActingUser&) = delete;
  static const std::string& name();
  static const std::string& address();
  /// Limits of the key with which the user asked (auth::Principal::limits); "" = none. Whatever is
  /// stored to be done later in the user's name is stored with them.
  static const std::string& limits();
  /// Names of the users whose work this thread stages: the acting user and those of CopiedWork;
  /// sorted, each once.
  static std::vector<std::string> makers();

 private:
  std::string outer_;
  std::string outer_address_;
  std::string outer_limits_;
};

/// The users who made what this thread copies: they are makers of what it stages too. Scopes nest.
/// One thread.
class CopiedWork {
 public:
  explicit CopiedWork(std::set<std::string> makers);
  ~CopiedWork();
  CopiedWork(const CopiedWork&) = delete;
  CopiedWork& operator=(const CopiedWork&) = delete;

 private:
  std::set<std::string> outer_;
};

}  // namespace tarn
