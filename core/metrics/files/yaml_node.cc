#include "core/metrics/files/yaml_node.h"

#include <sstream>

#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/yaml.h>

#include "core/base/error.h"
#include "core/base/str_cat.h"

namespace tarn {
namespace {

/// Builds a tree from the parser's events.
class TreeBuilder final : public YAML::EventHandler {
 public:
  YamlNode take() { return std::move(root_); }

  void OnDocumentStart(const YAML::Mark&) override {}
  void OnDocumentEnd() override {}
  void OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    add(node_at(mark, anchor, YamlNode::Kind::kNull));
  }
  void OnAlias(const YAML::Mark& mark, YAML::anchor_t) override {
    fail(mark, "aliases (*name) are not accepted, write the value out");
  }
  void OnScalar(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                const std::string& value) override {
    YamlNode node = node_at(mark, anchor, YamlNode::Kind::kScalar);
    node.text = value;
    // The parser tags plain text with "?" and quoted text with "!".
    node.quoted = !tag.empty() && tag != "?";
    add(std::move(node));
  }
  void OnSequenceStart(const YAML::Mark& mark, const std::string&, YAML::anchor_t anchor,
                       YAML::EmitterStyle::value) override {
    open(node_at(mark, anchor, YamlNode::Kind::kList), mark);
  }
  void OnSequenceEnd() override { close(); }
  void OnMapStart(const YAML::Mark& mark, const std::string&, YAML::anchor_t anchor,
                  YAML::EmitterStyle::value) override {
    open(node_at(mark, anchor, YamlNode::Kind::kMap), mark);
  }
  void OnMapEnd() override { close(); }

 private:
  [[noreturn]] static void fail(const YAML::Mark& mark, std::string_view why) {
    throw_invalid(str_cat(mark.line + 1, ":", mark.column + 1, ": ", why));
  }

  YamlNode node_at(const YAML::Mark& mark, YAML::anchor_t anchor, YamlNode::Kind kind) {
    if (anchor != YAML::NullAnchor) {
      fail(mark, "anchors (&name) are not accepted, write the value out");
    }
    if (++nodes_ > kYamlNodesMax) {
      fail(mark, str_cat("there are more than ", kYamlNodesMax, " values"));
    }
    YamlNode node;
    node.kind = kind;
    node.line = static_cast<size_t>(mark.line) + 1;
    node.column = static_cast<size_t>(mark.column) + 1;
    return node;
  }

  void open(YamlNode node, const YAML::Mark& mark) {
    if (open_.size() >= kYamlDepthMax) {
      fail(mark, str_cat("is nested deeper than ", kYamlDepthMax));
    }
    open_.push_back({std::move(node), {}, false});
  }
  void close() {
    YamlNode node = std::move(open_.back().node);
    open_.pop_back();
    add(std::move(node));
  }

  void add(YamlNode node) {
    if (open_.empty()) {
      root_ = std::move(node);
      return;
    }
    Open& parent = open_.back();
    if (parent.node.kind == YamlNode::Kind::kList) {
      parent.node.items.push_back(std::move(node));
    } else if (!parent.has_key) {
      parent.key = std::move(node);
      parent.has_key = true;
    } else {
      parent.node.members.emplace_back(std::move(parent.key), std::move(node));
      parent.has_key = false;
    }
  }

  /// A list or map that has not ended yet.
  struct Open {
    YamlNode node;
    YamlNode key;
    bool has_key;  ///< in a map: `key` waits for its value
  };
  std::vector<Open> open_;
  YamlNode root_;
  size_t nodes_ = 0;
};

}  // namespace

std::string YamlNode::place() const { return str_cat(line, ":", column); }

YamlNode parse_yaml(const std::string& text) {
  std::istringstream in(text);
  TreeBuilder builder;
  try {
    YAML::Parser parser(in);
    if (!parser.HandleNextDocument(builder)) return {};
    YamlNode root = builder.take();
    TreeBuilder second;
    if (parser.HandleNextDocument(second)) {
      throw_invalid(str_cat(second.take().place(), ": a second document, there may be one"));
    }
    return root;
  } catch (const YAML::Exception& error) {
    throw_invalid(str_cat(error.mark.line + 1, ":", error.mark.column + 1, ": ", error.msg));
  }
}

}  // namespace tarn
