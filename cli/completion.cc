#include "cli/completion.h"

#include <algorithm>

#include "core/base/str_cat.h"

namespace tarn::cli {
namespace {

// Bash splits words at ':' and '=', and replaces only the last piece.
constexpr std::string_view kBash =
    R"(# Completion of tarn for bash. To use it: source <(tarn completion bash)
_tarn() {
  local line=${COMP_LINE:0:COMP_POINT} current before="" word
  local -a words
  read -ra words <<<"$line"
  if [[ $line == *[[:space:]] ]]; then words+=(""); fi
  current=${words[${#words[@]}-1]}
  if [[ $COMP_WORDBREAKS == *:* ]]; then before=${current%"${current##*[:=]}"}; fi
  COMPREPLY=()
  while IFS=$'\t' read -r word _; do
    if [[ $word == :files ]]; then
      compopt -o filenames 2>/dev/null
      while IFS= read -r word; do COMPREPLY+=("${word#"$before"}"); done < <(compgen -f -- "$current")
    else
      if [[ $word == */ || $word == *= ]]; then compopt -o nospace 2>/dev/null; fi
      COMPREPLY+=("${word#"$before"}")
    fi
  done < <("${words[0]}" complete -- "${words[@]:1}" 2>/dev/null)
}
complete -F _tarn tarn
)";

constexpr std::string_view kZsh = R"(#compdef tarn
# Completion of tarn for zsh. To use it: source <(tarn completion zsh)
_tarn() {
  local line word help files=0
  local -a whole whole_shown open open_shown
  for line in "${(@f)$("${words[1]}" complete -- "${(@Q)words[2,CURRENT]}" 2>/dev/null)}"; do
    word=${line%%$'\t'*} help=${line#*$'\t'}
    if [[ $word == :files ]]; then
      files=1
    elif [[ $word == */ ]]; then
      open+=("$word") open_shown+=("$word")
    elif [[ -n $word ]]; then
      whole+=("$word")
      if [[ -n $help ]]; then whole_shown+=("$word  -- $help"); else whole_shown+=("$word"); fi
    fi
  done
  if (( ${#whole} )); then compadd -l -d whole_shown -a whole; fi
  if (( ${#open} )); then compadd -S '' -d open_shown -a open; fi
  if (( files )); then _files; fi
}
compdef _tarn tarn
if [[ $funcstack[1] == _tarn ]]; then _tarn; fi
)";

constexpr std::string_view kFish =
    R"(# Completion of tarn for fish. To use it: tarn completion fish | source
function __tarn_words
    set -l words (commandline -opc) (commandline -ct)
    for line in ($words[1] complete -- $words[2..-1] 2>/dev/null)
        if string match -q -- ':files*' $line
            __fish_complete_path $words[-1]
        else
            echo $line
        end
    end
end
complete -c tarn -f -a '(__tarn_words)'
)";

bool is_option(std::string_view word) { return word.size() > 1 && word.front() == '-'; }

std::string last_word(const std::string& name) { return name.substr(name.rfind(' ') + 1); }

/// The long name if there is one.
const std::string& name_of_option(const OptionNote& option) { return option.names.back(); }

/// The part of a command line that has been parsed.
class Line {
 public:
  explicit Line(const CommandNote& root) : root_(root), command_(&root) {}

  void take(const std::string& word) {
    if (pending_ != nullptr) {
      completion_.given.emplace_back(name_of_option(*pending_), word);
      pending_ = nullptr;
    } else if (word == "--") {
      only_arguments_ = true;
    } else if (is_option(word) && !only_arguments_) {
      take_option(word);
    } else if (!command_->commands.empty()) {
      const auto below = std::find_if(command_->commands.begin(), command_->commands.end(),
                                      [&](const auto& it) { return last_word(it.name) == word; });
      if (below != command_->commands.end()) command_ = &*below;
    } else {
      ++arguments_;
    }
  }

  Completion finish(const std::string& word) && {
    completion_.value = word;
    if (pending_ != nullptr) {
      completion_.value_of = name_of_option(*pending_);
    } else if (word.starts_with('-') && !only_arguments_) {
      finish_option(word);
    } else if (!command_->commands.empty()) {
      for (const CommandNote& below : command_->commands) offer(last_word(below.name), below.help);
    } else if (!command_->arguments.empty()) {
      const std::vector<ArgumentNote>& arguments = command_->arguments;
      const bool beyond = arguments_ >= arguments.size();
      if (!beyond) completion_.value_of = arguments[arguments_].name;
      if (beyond && arguments.back().repeated) completion_.value_of = arguments.back().name;
    }
    return std::move(completion_);
  }

 private:
  const OptionNote* find(std::string_view name) const {
    for (const CommandNote* note : {command_, &root_}) {
      for (const OptionNote& option : note->options) {
        if (std::find(option.names.begin(), option.names.end(), name) != option.names.end())
          return &option;
      }
    }
    return nullptr;
  }

  void take_option(const std::string& word) {
    const size_t equals = word.find('=');
    const OptionNote* option = find(word.substr(0, equals));
    if (option == nullptr || option->value.empty()) return;
    if (equals == std::string::npos) {
      pending_ = option;
    } else {
      completion_.given.emplace_back(name_of_option(*option), word.substr(equals + 1));
    }
  }

  void finish_option(const std::string& word) {
    const size_t equals = word.find('=');
    if (equals == std::string::npos) {
      for (const OptionNote& option : command_->options) offer_names(option);
      if (command_ == &root_) return;
      for (const OptionNote& option : root_.options) {
        if (find(name_of_option(option)) == &option) offer_names(option);
      }
      return;
    }
    const OptionNote* option = find(word.substr(0, equals));
    if (option == nullptr || option->value.empty()) return;
    completion_.value_of = name_of_option(*option);
    completion_.lead = word.substr(0, equals + 1);
    completion_.value = word.substr(equals + 1);
  }

  void offer_names(const OptionNote& option) {
    for (const std::string& name : option.names) offer(name, option.help);
  }

  void offer(const std::string& word, const std::string& help) {
    if (word.starts_with(completion_.value)) completion_.candidates.push_back({word, help});
  }

  const CommandNote& root_;
  const CommandNote* command_;
  const OptionNote* pending_ = nullptr;  ///< its value comes next
  size_t arguments_ = 0;
  bool only_arguments_ = false;
  Completion completion_;
};

}  // namespace

Completion complete(const CommandNote& root, const std::vector<std::string>& words) {
  Line line(root);
  for (size_t i = 0; i + 1 < words.size(); ++i) line.take(words[i]);
  return std::move(line).finish(words.empty() ? "" : words.back());
}

std::string_view completion_script(std::string_view shell) {
  if (shell == "bash") return kBash;
  if (shell == "zsh") return kZsh;
  if (shell == "fish") return kFish;
  throw usage_error(str_cat("completing in \"", shell, "\": not one of bash, zsh, fish"));
}

}  // namespace tarn::cli
