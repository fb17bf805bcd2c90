// trusted_proxies: addresses, ranges and lists of them.
#include <algorithm>
#include <cerrno>
#include <system_error>

#include "suimon/policy/guess.h"
#include "suimon/policy/proxy_lists.h"
#include "suimon/policy/reading.h"
#include "suimon/policy/text_file.h"

namespace suimon {
namespace {

constexpr std::string_view kProxiesExample = "trusted_proxies: [10.0.0.0/8]";

// Adds a range. False when there are too many, which is said then.
bool add_range(const AddressRange& range, std::string_view text, Place at, Reading& reading) {
  auto& ranges = reading.ruleset.client_ip.trusted_proxies;
  if (ranges.size() == kMostProxies) {
    reading.mistakes.add(at, "trusted_proxies: more than 1,024 ranges; join neighbours");
    return false;
  }
  ranges.push_back(range);
  if (range.bits == 0 || (range.bits == 96 && range.base.is_v4())) {
    reading.mistakes.warn(at, "trusted_proxies: " + shown(text) +
                                  " trusts everybody, so that everybody can claim any address; "
                                  "write the ranges of your own proxies");
  }
  return true;
}

void add_list(std::string_view text, std::string_view file, const Node& item, Reading& reading) {
  std::vector<ListMistake> mistakes;
  const auto ranges = read_proxy_list(text, mistakes);
  const std::string begin = "trusted_proxies: " + std::string(file);
  for (const ListMistake& mistake : mistakes) {
    reading.mistakes.add(item.at, begin + ":" + std::to_string(mistake.line) + ": " + mistake.text);
    if (reading.mistakes.full()) return;
  }
  if (ranges.empty() && mistakes.empty()) {
    reading.mistakes.add(item.at, begin + " names no range; write one a line, such as 10.0.0.0/8");
  }
  for (const AddressRange& range : ranges) {
    if (!add_range(range, file, item.at, reading)) return;
  }
}

void cannot_read(const std::string& path, int error, const Node& item, Reading& reading) {
  reading.mistakes.add(item.at, "trusted_proxies: " + path +
                                    " cannot be read: " + std::generic_category().message(error));
}

// "@/path/file" is that file. "@name" is NAME.txt beside the policy file, else the list of that
// name that ships: so a range that is new can be there before the next version of the program.
void read_list(std::string_view name, const Node& item, Reading& reading) {
  std::string text;
  const bool is_path = name.starts_with('/');
  if (is_path && reading.folder.empty()) {
    reading.mistakes.add(item.at, "trusted_proxies: " + shown(name) +
                                      " is not read here, because the policy itself is no file");
    return;
  }
  if (is_path) {
    const std::string path(name);
    const int error = read_text_file(path, text);
    return error == 0 ? add_list(text, path, item, reading)
                      : cannot_read(path, error, item, reading);
  }
  std::vector<std::string_view> names;
  for (const ProxyList& list : shipped_proxy_lists()) names.push_back(list.name);
  const bool good_name =
      !name.empty() && name.size() <= kLongestName &&
      name.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789-_") == std::string_view::npos;
  if (!good_name) {
    reading.mistakes.add(item.at, "trusted_proxies: " + shown("@" + std::string(name)) +
                                      " is no name of a list; write @ and a-z, 0-9, - or _, or "
                                      "@/path/file");
    return;
  }
  const std::string own = reading.folder + "/" + std::string(name) + ".txt";
  if (!reading.folder.empty()) {
    const int error = read_text_file(own, text);
    if (error == 0) return add_list(text, own, item, reading);
    if (error != ENOENT) return cannot_read(own, error, item, reading);
  }
  for (const ProxyList& list : shipped_proxy_lists()) {
    if (list.name == name) return add_list(list.text, list.name, item, reading);
  }
  reading.mistakes.add(item.at, "trusted_proxies: there is no list " +
                                    shown("@" + std::string(name)) + "; " + advice(name, names) +
                                    " (or yours: NAME.txt beside the policy file)");
}

}  // namespace

void read_proxies(const Node& node, Reading& reading) {
  if (node.is_null()) {
    reading.mistakes.add(node.at,
                         "trusted_proxies: nothing is written; write [] to trust nobody, "
                         "or leave the key out to trust this machine");
    return;
  }
  if (!is_sequence(node, "trusted_proxies", kProxiesExample, reading.mistakes)) return;
  if (node.items.empty()) reading.ruleset.client_ip.trust_local = false;
  if (node.items.size() > kMostProxies) {
    reading.mistakes.add(node.at, "trusted_proxies: more than 1,024 ranges; join neighbours");
    return;
  }
  for (const Node& item : node.items) {
    const auto text = text_of(item, "trusted_proxies", kProxiesExample, reading.mistakes);
    if (!text) continue;
    if (text->starts_with('@')) {
      read_list(text->substr(1), item, reading);
      continue;
    }
    const auto range = parse_range(*text);
    if (!range) {
      reading.mistakes.add(item.at, "trusted_proxies: " + range.error().text);
    } else if (!add_range(*range, *text, item.at, reading)) {
      return;
    }
  }
}

}  // namespace suimon
