#include "suimon/policy/document.h"

#include <yaml.h>

#include <unordered_map>
#include <utility>

#include "suimon/policy/yaml_words.h"

namespace suimon {
namespace {

constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";

std::string_view view(const yaml_char_t* text, std::size_t length) {
  return {reinterpret_cast<const char*>(text), length};
}

std::string_view view(const yaml_char_t* text) { return reinterpret_cast<const char*>(text); }

// "!!str", as people write it, for "tag:yaml.org,2002:str".
std::string short_tag(std::string_view tag) {
  constexpr std::string_view kStandard = "tag:yaml.org,2002:";
  if (!tag.starts_with(kStandard)) return std::string(tag);
  return "!!" + std::string(tag.substr(kStandard.size()));
}

class Event {
 public:
  Event() = default;
  ~Event() { clear(); }
  Event(const Event&) = delete;
  Event& operator=(const Event&) = delete;

  void clear() {
    yaml_event_delete(&raw);  // also makes it an event of no type, so twice is harmless
  }
  Place at() const { return place_of(raw.start_mark); }

  yaml_event_t raw{};
};

class Parser {
 public:
  Parser(std::string_view text, Mistakes& mistakes) : text_(text), mistakes_(mistakes) {
    ready_ = yaml_parser_initialize(&parser_) != 0;
    if (!ready_) return;
    yaml_parser_set_encoding(&parser_, YAML_UTF8_ENCODING);
    if (text.data() == nullptr) text = "";  // libyaml refuses a null pointer
    yaml_parser_set_input_string(&parser_, reinterpret_cast<const unsigned char*>(text.data()),
                                 text.size());
  }
  ~Parser() {
    if (ready_) yaml_parser_delete(&parser_);
  }
  Parser(const Parser&) = delete;
  Parser& operator=(const Parser&) = delete;

  bool read(Node& root) {
    if (!ready_) {
      mistakes_.add({}, "cannot be read: out of memory");
      return false;
    }
    Event event;
    if (!next(event) || !next(event)) return false;  // the stream, then the document or the end
    if (event.raw.type == YAML_STREAM_END_EVENT) {
      root.at = {1, 1};
      return true;
    }
    if (!next(event) || !value(event, root, 1)) return false;
    if (!next(event) || !next(event)) return false;  // the document's end, then the stream's
    if (event.raw.type == YAML_STREAM_END_EVENT) return true;
    mistakes_.add(event.at(), "a second document begins here; write it to a file of its own");
    return false;
  }

 private:
  bool next(Event& event) {
    event.clear();
    if (yaml_parser_parse(&parser_, &event.raw) != 0) return true;
    add_syntax_mistake(parser_, text_, mistakes_);
    return false;
  }

  // Reads the value that begins with `event`. False ends the reading.
  bool value(Event& event, Node& out, int depth) {
    out.at = event.at();
    if (depth > kMostDocumentDepth) {
      mistakes_.add(out.at, "nested more than 32 levels deep");
      return false;
    }
    if (++nodes_ > kMostDocumentNodes) {
      mistakes_.add(out.at, "more than 100,000 values in one file; divide it, by domain");
      return false;
    }
    const yaml_event_t& raw = event.raw;
    switch (raw.type) {
      case YAML_ALIAS_EVENT:
        out.kind = Node::Kind::refused;
        mistakes_.add(out.at, shown("*" + std::string(view(raw.data.alias.anchor))) +
                                  ": aliases are not allowed here; write the value out, or quote "
                                  "it if the `*` belongs to it");
        return true;
      case YAML_SCALAR_EVENT:
        scalar(raw, out);
        return true;
      case YAML_SEQUENCE_START_EVENT:
        out.kind = Node::Kind::sequence;
        refuse_marks(raw.data.sequence_start.anchor, raw.data.sequence_start.tag, out.at);
        return sequence(event, out, depth);
      default:  // the parser yields nothing else where a value stands
        out.kind = Node::Kind::mapping;
        refuse_marks(raw.data.mapping_start.anchor, raw.data.mapping_start.tag, out.at);
        return mapping(event, out, depth);
    }
  }

  void scalar(const yaml_event_t& raw, Node& out) {
    const auto& scalar = raw.data.scalar;
    refuse_marks(scalar.anchor, scalar.tag, out.at);
    out.text = view(scalar.value, scalar.length);
    out.quoted = scalar.style != YAML_PLAIN_SCALAR_STYLE;
    const bool null = !out.quoted && (out.text.empty() || out.text == "~" || out.text == "null" ||
                                      out.text == "Null" || out.text == "NULL");
    out.kind = null ? Node::Kind::null : Node::Kind::scalar;
  }

  bool sequence(Event& event, Node& out, int depth) {
    for (;;) {
      if (!next(event)) return false;
      if (event.raw.type == YAML_SEQUENCE_END_EVENT) return true;
      if (!value(event, out.items.emplace_back(), depth + 1)) return false;
    }
  }

  bool mapping(Event& event, Node& out, int depth) {
    std::unordered_map<std::string, Place> seen;
    for (;;) {
      if (!next(event)) return false;
      if (event.raw.type == YAML_MAPPING_END_EVENT) return true;
      Node key;
      if (!value(event, key, depth + 1)) return false;
      bool keep = key.is_scalar();
      if (!keep && !key.is_refused()) {
        mistakes_.add(key.at, key.is_null() ? "a key is missing before this `:`"
                                            : "a key must be plain text; if this was meant as "
                                              "text, put it in quotes");
      }
      if (keep && key.text == "<<" && !key.quoted) {
        mistakes_.add(key.at, "merge keys (`<<`) are not allowed here; write the values out");
        keep = false;
      }
      if (keep) {
        const auto [first, fresh] = seen.emplace(key.text, key.at);
        if (!fresh) {
          mistakes_.add(key.at, shown(key.text) + " is here a second time; the first is at " +
                                    to_string(first->second) + "; keep one");
          keep = false;
        }
      }
      Node value_node;
      if (!next(event) || !value(event, value_node, depth + 1)) return false;
      if (keep) out.entries.push_back({std::move(key.text), key.at, std::move(value_node)});
    }
  }

  void refuse_marks(const yaml_char_t* anchor, const yaml_char_t* tag, Place at) {
    if (anchor != nullptr) {
      mistakes_.add(at, shown("&" + std::string(view(anchor))) +
                            ": anchors are not allowed here; write the value out wherever it is "
                            "needed");
    }
    if (tag != nullptr) {
      mistakes_.add(
          at, shown(short_tag(view(tag))) + ": tags are not allowed here; write the plain value");
    }
  }

  yaml_parser_t parser_{};
  std::string_view text_;
  Mistakes& mistakes_;
  int nodes_ = 0;
  bool ready_ = false;
};

}  // namespace

const Entry* Node::find(std::string_view key) const {
  for (const Entry& entry : entries) {
    if (entry.key == key) return &entry;
  }
  return nullptr;
}

bool parse_document(std::string_view text, Node& root, Mistakes& mistakes) {
  if (text.size() > kMostDocumentBytes) {
    mistakes.add({}, "is larger than 4 MiB; divide it, by domain");
    return false;
  }
  if (text.starts_with(kByteOrderMark)) text.remove_prefix(kByteOrderMark.size());
  return Parser(text, mistakes).read(root);
}

}  // namespace suimon
