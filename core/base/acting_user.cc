#include "core/base/acting_user.h"

#include <utility>

namespace tarn {
namespace {

struct Acting {
  std::string name;
  std::string address;
  std::string limits;
  std::set<std::string> copied;
};

Acting& acting() {
  thread_local Acting here;
  return here;
}

}  // namespace

ActingUser::ActingUser(std::string name, std::string address, std::string limits)
    : outer_(std::exchange(acting().name, std::move(name))),
      outer_address_(std::exchange(acting().address, std::move(address))),
      outer_limits_(std::exchange(acting().limits, std::move(limits))) {}

ActingUser::~ActingUser() {
  acting().name = std::move(outer_);
  acting().address = std::move(outer_address_);
  acting().limits = std::move(outer_limits_);
}

const std::string& ActingUser::name() { return acting().name; }
const std::string& ActingUser::address() { return acting().address; }
const std::string& ActingUser::limits() { return acting().limits; }

std::vector<std::string> ActingUser::makers() {
  std::set<std::string> out = acting().copied;
  out.insert(acting().name);
  out.erase("");
  return {out.begin(), out.end()};
}

CopiedWork::CopiedWork(std::set<std::string> makers) : outer_(acting().copied) {
  acting().copied.merge(makers);
}

CopiedWork::~CopiedWork() { acting().copied = std::move(outer_); }

}  // namespace tarn
