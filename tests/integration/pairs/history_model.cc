#include "tests/integration/pairs/history_model.h"

#include <algorithm>
#include <sstream>

#include "core/base/digest.h"
#include "core/base/encoding.h"

namespace tarn::pairs {
namespace {

void collect(const ModelCommitPtr& commit, std::set<ModelCommitPtr>& out) {
  if (!out.insert(commit).second) return;
  for (const ModelCommitPtr& parent : commit->parents) collect(parent, out);
}

std::string render_pairs(const std::map<std::string, std::string>& pairs) {
  std::string out;
  for (const auto& [name, value] : pairs) out += (out.empty() ? "" : ",") + name + "=" + value;
  return out;
}

std::string render_tree(const ModelTree& tree) {
  std::string out;
  for (const auto& [key, object] : tree) out += (out.empty() ? "" : " ") + key + render(object);
  return "{" + out + "}";
}

std::set<std::string> lines_of(const std::string& text) {
  std::set<std::string> out;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) out.insert(line);
  return out;
}

const std::optional<ModelObject> at(const ModelTree& tree, const std::string& key) {
  const auto found = tree.find(key);
  return found == tree.end() ? std::nullopt : std::optional(found->second);
}

}  // namespace

ModelTree ModelBranch::visible() const {
  ModelTree out = head->tree;
  for (const auto& [key, object] : staged) {
    out.erase(key);
    if (object) out[key] = *object;
  }
  return out;
}

bool ModelBranch::dirty() const { return visible() != head->tree; }

std::optional<ModelObject> ModelBranch::find(const std::string& key) const {
  const auto found = staged.find(key);
  return found == staged.end() ? at(head->tree, key) : found->second;
}

void ModelBranch::stage(const std::string& key, std::optional<ModelObject> object) {
  staged[key] = std::move(object);
}

ModelBranch* World::branch(const std::string& name) {
  if (!exists) return nullptr;
  const auto found = branches.find(name);
  return found == branches.end() ? nullptr : &found->second;
}

std::string render(const ModelObject& object) {
  std::string out = "(" + object.text;
  if (object.url.empty()) out += " " + object.etag.substr(0, 6);
  if (!object.url.empty()) out += " " + object.url;
  if (!object.content_type.empty()) out += " " + object.content_type;
  if (!object.metadata.empty()) out += " meta:" + render_pairs(object.metadata);
  if (!object.tags.empty()) out += " tags:" + render_pairs(object.tags);
  return out + ")";
}

std::string render(const ModelCommitPtr& commit) {
  std::string out = commit->name + " " + render_tree(commit->tree);
  for (const ModelCommitPtr& parent : commit->parents) out += " <- " + parent->name;
  return out;
}

std::string render(const World& world) {
  std::ostringstream out;
  if (world.restored) {
    out << "target of restores\n";
    for (const auto& [name, commit] : *world.restored) {
      out << "restored " << name << " " << render(commit) << "\n";
    }
  }
  if (!world.exists) {
    out << "repository deleted\n";
    if (world.orphans > 0) out << "rows left behind: " << world.orphans << "\n";
    return out.str();
  }
  for (const auto& [name, branch] : world.branches) {
    out << "branch " << name << (branch.expires ? " (expires)" : "") << " at "
        << render(branch.head) << "\n";
    const ModelTree visible = branch.visible();
    for (const auto& [key, object] : visible) {
      if (at(branch.head->tree, key) != object) {
        out << "staged " << name << " " << key << render(object) << "\n";
      }
    }
    for (const auto& [key, object] : branch.head->tree) {
      if (!visible.contains(key)) out << "staged " << name << " " << key << " deleted\n";
    }
  }
  for (const auto& [name, commit] : world.tags)
    out << "tag " << name << " " << render(commit) << "\n";
  for (const auto& [name, commit] : world.aliases)
    out << "alias " << name << " " << render(commit) << "\n";
  for (const auto& [id, upload] : world.uploads) {
    out << "upload " << id << " " << upload.key;
    for (const auto& [number, etag] : upload.parts)
      out << " " << number << ":" << etag.substr(0, 6);
    out << "\n";
  }
  for (const auto& [id, state] : world.jobs) out << "job " << id << " " << state << "\n";
  if (world.branch_rules) out << "branch rules\n";
  for (const auto& [id, pull] : world.pulls) {
    out << "pull request " << id << " " << pull.status;
    for (const std::string& user : pull.approvals) out << " approved by " << user;
    if (pull.merged) out << " as " << render(pull.merged);
    out << "\n";
  }
  if (world.policy_version > 0) out << "policy version " << world.policy_version << "\n";
  for (const auto& [id, promotion] : world.promotions) {
    out << "promotion " << id << " " << promotion.state;
    for (const auto& [name, state] : promotion.checks) out << " " << name << ":" << state;
    if (promotion.result) out << " as " << render(promotion.result);
    out << "\n";
  }
  return out.str();
}

std::string difference(const std::string& expected, const std::string& observed) {
  const std::set<std::string> left = lines_of(expected), right = lines_of(observed);
  std::string out;
  for (const std::string& line : left) {
    if (!right.contains(line)) out += "      - " + line + "\n";
  }
  for (const std::string& line : right) {
    if (!left.contains(line)) out += "      + " + line + "\n";
  }
  return out;
}

ModelCommitPtr merge_base(const ModelCommitPtr& a, const ModelCommitPtr& b) {
  std::set<ModelCommitPtr> left, right;
  collect(a, left);
  collect(b, right);
  std::vector<ModelCommitPtr> common;
  for (const ModelCommitPtr& commit : left) {
    if (right.contains(commit)) common.push_back(commit);
  }
  for (const ModelCommitPtr& candidate : common) {
    std::set<ModelCommitPtr> history;
    collect(candidate, history);
    if (std::all_of(common.begin(), common.end(),
                    [&](const ModelCommitPtr& other) { return history.contains(other); })) {
      return candidate;
    }
  }
  return nullptr;
}

std::optional<ModelTree> merge_trees(const ModelTree& base, const ModelTree& source,
                                     const ModelTree& destination) {
  std::set<std::string> keys;
  for (const ModelTree* tree : {&base, &source, &destination}) {
    for (const auto& [key, object] : *tree) keys.insert(key);
  }
  ModelTree out = destination;
  for (const std::string& key : keys) {
    const auto was = at(base, key), theirs = at(source, key), ours = at(destination, key);
    if (theirs == was || theirs == ours) continue;
    if (ours != was) return std::nullopt;
    out.erase(key);
    if (theirs) out[key] = *theirs;
  }
  return out;
}

ModelCommitPtr commit_of(std::string committer, std::string message, ModelTree tree,
                         std::vector<ModelCommitPtr> parents) {
  auto out = std::make_shared<ModelCommit>();
  out->committer = std::move(committer);
  out->message = std::move(message);
  out->tree = std::move(tree);
  out->parents = std::move(parents);
  std::string whole = render_tree(out->tree);
  for (const ModelCommitPtr& parent : out->parents) whole += " " + parent->name;
  out->name =
      "\"" + out->message + "\" by " + out->committer + " #" + to_hex(md5(whole)).substr(0, 6);
  return out;
}

}  // namespace tarn::pairs
