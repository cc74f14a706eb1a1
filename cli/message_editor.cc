#include "cli/message_editor.h"

#include <cstdlib>
#include <filesystem>
#include <system_error>

#include <unistd.h>

#include "cli/child_program.h"
#include "cli/exit_code.h"
#include "cli/local_file.h"
#include "core/base/str_cat.h"

namespace tarn::cli {
namespace {

constexpr std::string_view kHowTo =
    "Lines that begin with # are left out; an empty message changes nothing.";

/// A file that only its owner can read, removed at the end.
class MessageFile {
 public:
  explicit MessageFile(const std::string& text)
      : path_((std::filesystem::temp_directory_path() / "tarn-message-XXXXXX.txt").string()) {
    constexpr int kSuffixLength = 4;
    const int file = ::mkstemps(path_.data(), kSuffixLength);
    const auto size = static_cast<ssize_t>(text.size());
    const bool written = file >= 0 && ::write(file, text.data(), text.size()) == size;
    if (file >= 0) ::close(file);
    if (!written) throw Error(ErrorCode::kInternal, str_cat("writing ", path_, ": failed"));
  }
  ~MessageFile() {
    std::error_code ignored;
    std::filesystem::remove(path_, ignored);
  }
  MessageFile(const MessageFile&) = delete;
  MessageFile& operator=(const MessageFile&) = delete;

  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

template <typename Each>
void each_line(std::string_view text, const Each& each) {
  for (size_t at = 0; at < text.size();) {
    const size_t end = std::min(text.find('\n', at), text.size());
    each(text.substr(at, end - at));
    at = end + 1;
  }
}

}  // namespace

bool may_edit(const Session& session) {
  return session.terminal.may_prompt && session.out.screen().is_terminal;
}

std::string editor_of(const Environment& environment) {
  for (const char* name : {"TARN_EDITOR", "VISUAL", "EDITOR"}) {
    if (const auto value = environment(name); value && !value->empty()) return *value;
  }
  return "vi";
}

std::string message_template(std::string_view initial, std::string_view notes) {
  std::string text = str_cat(initial, '\n');
  each_line(str_cat('\n', notes, '\n', kHowTo), [&](std::string_view line) {
    text += str_cat("#", line.empty() ? "" : " ", line, '\n');
  });
  return text;
}

std::string message_in(std::string_view edited) {
  constexpr std::string_view kBlank = " \t\r\n";
  std::string text;
  each_line(edited, [&](std::string_view line) {
    if (!line.starts_with('#')) text += str_cat(line, '\n');
  });
  const size_t begin = text.find_first_not_of(kBlank);
  if (begin == std::string::npos) return "";
  return text.substr(begin, text.find_last_not_of(kBlank) + 1 - begin);
}

std::string edit_message(std::string_view initial, std::string_view notes) {
  const std::string editor = editor_of(process_environment());
  const MessageFile file(message_template(initial, notes));
  {
    const IgnoredInterrupts ignored;
    const int status = wait_for_program(start_program(editor, {file.path()}));
    if (status != 0) {
      throw Error(ErrorCode::kInvalidArgument,
                  str_cat("the editor \"", editor, "\" ended with status ", status,
                          "; nothing was changed (-m gives the message, TARN_EDITOR, VISUAL or "
                          "EDITOR another editor)"));
    }
  }
  const std::string message = message_in(read_whole_file(file.path(), kEditedBytesMax));
  if (!message.empty()) return message;
  throw Error(ErrorCode::kInvalidArgument, kReasonInterrupted,
              "the message is empty; nothing was changed");
}

}  // namespace tarn::cli
