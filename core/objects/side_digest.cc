#include "core/objects/side_digest.h"

#include <system_error>

namespace tarn::objects {

SideDigest::~SideDigest() {
  if (!thread_.joinable()) return;
  state_.wait(kBusy);
  state_ = kEnding;
  state_.notify_one();
  thread_.join();
}

void SideDigest::update(std::string_view piece, bool last) {
  settle();
  if (last && !thread_.joinable()) return digest_.update(piece);
  if (!thread_.joinable()) {
    try {
      thread_ = std::thread([this] { work(); });
    } catch (const std::system_error&) {  // no thread to be had
      return digest_.update(piece);
    }
  }
  piece_ = piece;
  state_ = kBusy;
  state_.notify_one();
}

std::string SideDigest::finish() {
  settle();
  return digest_.finish();
}

void SideDigest::settle() {
  state_.wait(kBusy);
  if (error_) std::rethrow_exception(error_);
}

void SideDigest::work() {
  for (;;) {
    state_.wait(kIdle);
    if (state_ == kEnding) return;
    try {
      digest_.update(piece_);
    } catch (...) {
      error_ = std::current_exception();
    }
    state_ = kIdle;
    state_.notify_one();
  }
}

}  // namespace tarn::objects
