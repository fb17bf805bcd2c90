#include "suimon/policy/loader.h"

#include <algorithm>
#include <filesystem>
#include <map>
#include <system_error>
#include <utility>

#include "suimon/policy/reading.h"
#include "suimon/policy/text_file.h"
#include "suimon/policy/vocabulary.h"

namespace suimon {
namespace {

constexpr std::size_t kMostFiles = 1'000;

void read_version(const Node& root, Mistakes& mistakes) {
  const Entry* version =
      required(root, "version", kFileWords,
               "version is missing; write version: 1 as the first line", mistakes);
  if (version == nullptr) return;
  const auto text = text_of(version->value, "version", "version: 1", mistakes);
  if (text && *text != "1") {
    mistakes.add(version->value.at, "version: " + shown(*text) + " is unknown; write version: 1");
  }
}

void read_domain(const Node& root, Reading& reading) {
  const Entry* domain =
      required(root, "domain", kFileWords, "domain is missing; write for example domain: shop",
               reading.mistakes);
  if (domain == nullptr) return;
  const auto text = text_of(domain->value, "domain", "domain: shop", reading.mistakes);
  if (!text) return;
  if (check_name(*text, NameCase::any, "domain", domain->value.at, reading.mistakes)) {
    reading.ruleset.domain = *text;
    reading.domain_at = domain->value.at;
  }
}

void read_file(const Node& root, Reading& reading) {
  Mistakes& mistakes = reading.mistakes;
  if (root.is_null()) {
    mistakes.add(root.at, "the file is empty; a policy begins with version: 1");
    return;
  }
  if (!is_mapping(root, "policy", "version: 1", mistakes)) return;
  // The format of envoyproxy/ratelimit: everything else in it would be one mistake after another.
  const Entry* descriptors = root.find("descriptors");
  if (descriptors != nullptr && root.find("version") == nullptr) {
    mistakes.add(descriptors->at,
                 "`descriptors` is not in this version; files of envoyproxy/ratelimit cannot be "
                 "loaded yet, write version: 1 and limits:");
    return;
  }
  check_keys(root, kFileWords, mistakes);
  read_version(root, mistakes);
  read_domain(root, reading);
  if (const Entry* part = root.find("client_ip")) read_client_ip(part->value, reading);
  if (const Entry* part = root.find("attributes")) read_attributes(part->value, reading);
  if (const Entry* part = root.find("aliases")) read_aliases(part->value, reading);
  if (const Entry* part = root.find("tiers")) {
    read_tiers(part->value, reading);
  } else {
    // Misspelt, it is said once and not again by every limit that looks for a tier.
    reading.tiers_readable = std::none_of(root.entries.begin(), root.entries.end(),
                                          [](const Entry& entry) { return entry.key == "tier"; });
  }
  if (const Entry* part = root.find("responses")) read_responses(part->value, reading);
  if (const Entry* part = root.find("server")) read_server(part->value, reading);
  if (const Entry* part = root.find("store")) read_store(part->value, reading);
  if (const Entry* part = root.find("log")) read_log(part->value, reading);
  if (const Entry* part =
          required(root, "limits", kFileWords,
                   "limits is missing; a policy needs at least one limit", mistakes)) {
    read_limits(part->value, reading);
  }
}

// Where each of the sections was written that are for the whole program.
using Origins = std::map<std::string, std::string, std::less<>>;

// Takes over what `root` says about the whole program, unless another file has said it already.
void take_settings(const Node& root, std::string_view file, const Settings& read, Origins& origins,
                   Mistakes& mistakes, Settings& out) {
  const auto take = [&](const char* section, auto Settings::* part) {
    const Entry* entry = root.find(section);
    if (entry == nullptr) return;
    const auto [first, fresh] =
        origins.emplace(section, std::string(file) + ":" + to_string(entry->at));
    if (fresh) {
      out.*part = read.*part;
    } else {
      mistakes.add(entry->at, shown(section) + " is written in " + first->second +
                                  " already; it is for the whole program, so keep one");
    }
  };
  take("server", &Settings::server);
  take("store", &Settings::store);
  take("log", &Settings::log);
}

// Adds one file to `out`; the place of its domain.
Place load_text(std::string_view text, std::string_view file, std::string_view folder,
                Origins& origins, Loaded& out) {
  Mistakes mistakes(file);
  Reading reading{mistakes};
  reading.folder = folder;
  Node root;
  if (parse_document(text, root, mistakes)) read_file(root, reading);
  take_settings(root, file, reading.settings, origins, mistakes, out.policy.settings);
  mistakes.hand_over(out);
  out.policy.rulesets.push_back(std::move(reading.ruleset));
  return reading.domain_at;
}

void add_plain(const std::string& file, std::string text, Loaded& out) {
  out.mistakes.push_back({file, 0, 0, std::move(text)});
}

// The place of the file's domain; none when it cannot be read.
Place load_file(const std::string& path, Origins& origins, Loaded& out) {
  std::string text;
  if (const int error = read_text_file(path, text); error != 0) {
    add_plain(path, "cannot be read: " + std::generic_category().message(error), out);
    return {};
  }
  const std::string folder = std::filesystem::path(path).parent_path().native();
  return load_text(text, path, folder.empty() ? "." : folder, origins, out);
}

std::vector<std::string> files_of(const std::string& directory, Loaded& out) {
  std::vector<std::string> files;
  std::error_code error;
  std::filesystem::directory_iterator entries(directory, error);
  while (!error && entries != std::filesystem::directory_iterator()) {
    const auto& path = entries->path();
    const auto extension = path.extension();
    const bool hidden = path.filename().native().starts_with('.');
    std::error_code no_type;
    const bool folder = entries->is_directory(no_type);
    if (!hidden && !folder && (extension == ".yaml" || extension == ".yml")) {
      files.push_back(path.native());
    }
    entries.increment(error);
  }
  if (error) {
    add_plain(directory, "cannot be read: " + error.message(), out);
  } else if (files.empty()) {
    add_plain(directory, "holds no *.yaml or *.yml file", out);
  } else if (files.size() > kMostFiles) {
    add_plain(directory, "holds more than 1,000 policy files", out);
    files.clear();
  }
  std::sort(files.begin(), files.end());
  return files;
}

}  // namespace

Loaded load_policy_text(std::string_view text, std::string_view file) {
  Loaded out;
  Origins origins;
  load_text(text, file, {}, origins, out);
  return out;
}

Loaded load_policy(const std::string& path) {
  Loaded out;
  Origins sections;
  std::error_code error;
  if (!std::filesystem::is_directory(path, error)) {
    load_file(path, sections, out);
    return out;
  }
  struct Origin {
    std::string domain;
    std::string where;
  };
  std::vector<Origin> origins;
  for (const std::string& file : files_of(path, out)) {
    const std::size_t before = out.policy.rulesets.size();
    const Place at = load_file(file, sections, out);
    if (out.policy.rulesets.size() == before || at == Place{}) continue;
    const std::string& domain = out.policy.rulesets.back().domain;
    const auto first = std::find_if(origins.begin(), origins.end(),
                                    [&](const Origin& origin) { return origin.domain == domain; });
    if (first == origins.end()) {
      origins.push_back({domain, file + ":" + to_string(at)});
    } else {
      out.mistakes.push_back({file, at.line, at.column,
                              "domain: " + shown(domain) + " is loaded from " + first->where +
                                  " already; one domain is one file"});
    }
  }
  return out;
}

std::vector<std::string> policy_files(const std::string& path) {
  std::error_code error;
  if (!std::filesystem::is_directory(path, error)) return {path};
  Loaded unused;
  return files_of(path, unused);
}

}  // namespace suimon
