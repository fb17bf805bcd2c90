#include "apps/suimon/reloader.h"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <ctime>

#include "apps/suimon/fingerprint.h"
#include "apps/suimon/notify.h"
#include "suimon/policy/loader.h"

namespace suimon::app {
namespace {

constexpr std::size_t kMostLines = 200;  // of one reload, so that the rest of the log survives it

// Writes at most kMostLines lines and says how many more there were.
class Lines {
 public:
  template <class Line>
  void info(Line line) {
    if (++count_ <= kMostLines) spdlog::info("{}", line());
  }
  ~Lines() {
    if (count_ > kMostLines) spdlog::info("and {} more", count_ - kMostLines);
  }

 private:
  std::size_t count_ = 0;
};

void log_changes(const std::string& path, const PolicyChanges& changes) {
  {
    Lines lines;
    for (const std::string& name : changes.added) lines.info([&] { return "added " + name; });
    for (const auto* list : {&changes.changed, &changes.domains}) {
      for (const Change& change : *list) {
        lines.info([&] { return "changed " + change.to_string(); });
      }
    }
    for (const std::string& name : changes.removed) lines.info([&] { return "removed " + name; });
  }
  spdlog::info("{} was loaded: {} added, {} changed, {} removed, {} unchanged", path,
               changes.added.size(), changes.changed.size(), changes.removed.size(),
               changes.unchanged);
}

// Limits are told from their earlier parameters by numbers, and those run out.
void log_numbers(const Shapes& shapes) {
  if (shapes.used() * 10 < Shapes::kMost * 8) return;
  spdlog::warn(
      "{} of {} numbers for limits are used, each change takes one; restart at a quiet time, "
      "before no change can be loaded",
      shapes.used(), Shapes::kMost);
}

std::vector<std::string> texts_of(const std::vector<Mistake>& mistakes) {
  std::vector<std::string> texts;
  texts.reserve(mistakes.size());
  for (const Mistake& mistake : mistakes) texts.push_back(mistake.to_string());
  return texts;
}

}  // namespace

Reloader::Reloader(net::Loop& loop, std::string path, Hash128 loaded, NeedsRestart needs_restart,
                   ReadSecrets secrets, LivePolicy& policy, Metrics& metrics,
                   std::function<void()> installed)
    : loop_(loop),
      path_(std::move(path)),
      needs_restart_(std::move(needs_restart)),
      secrets_(std::move(secrets)),
      policy_(policy),
      metrics_(metrics),
      installed_(std::move(installed)),
      loaded_(loaded) {}

Reloader::~Reloader() {
  close();
  loop_.timers().cancel(due_);
  loop_.timers().cancel(next_look_);
}

void Reloader::watch() {
  log_numbers(policy_.shapes());
  watch_ = std::make_unique<Watch>(loop_, path_, [this] { changed(); });
  if (!watch_->trouble().empty()) look_from_time_to_time();
  if (!(content_fingerprint(path_) == loaded_)) changed();
}

void Reloader::look_from_time_to_time() {
  spdlog::warn("{}; looking at {} every {} seconds instead", watch_->trouble(), path_,
               std::chrono::duration_cast<std::chrono::seconds>(kLookEvery).count());
  watch_.reset();
  looking_ = true;
  looked_ = stat_fingerprint(path_);
  next_look_ = loop_.timers().add(loop_.clock().now() + kLookEvery, *this);
}

void Reloader::look() {
  const Hash128 now = stat_fingerprint(path_);
  if (!(now == looked_)) changed();
  looked_ = now;
  next_look_ = loop_.timers().add(loop_.now() + kLookEvery, *this);
}

void Reloader::changed() {
  const Instant now = loop_.now();
  if (!first_event_) first_event_ = now;
  const Instant end = *first_event_ + kPatience;
  const bool being_written = watch_ && watch_->being_written();
  loop_.timers().cancel(due_);
  due_ = loop_.timers().add(being_written ? end : std::min(now + kQuiet, end), *this);
}

void Reloader::on_timer(Instant now) {
  if (looking_ && now >= next_look_.at) look();
  if (first_event_ && now >= due_.at) reload_if_changed();
  // Not where the Watch found it, for it was on the call stack then.
  if (watch_ && !watch_->trouble().empty()) look_from_time_to_time();
}

void Reloader::reload_if_changed() {
  first_event_.reset();
  if (content_fingerprint(path_) == loaded_) {
    spdlog::info("{}: nothing in it has changed", path_);
    return;
  }
  reload();
}

bool Reloader::request(Done done) {
  const std::lock_guard lock(mutex_);
  if (closed_ || waiting_.size() >= kMostWaiting) return false;
  // Whoever comes first has the loop woken for all.
  if (waiting_.empty() && !loop_.post([this] { answer(); })) return false;
  waiting_.push_back(std::move(done));
  return true;
}

void Reloader::answer() {
  std::vector<Done> waiting;
  {
    const std::lock_guard lock(mutex_);
    waiting.swap(waiting_);
  }
  if (waiting.empty()) return;
  const Reloaded reloaded = reload();
  for (const Done& done : waiting) done(reloaded);
}

void Reloader::close() {
  std::vector<Done> waiting;
  {
    const std::lock_guard lock(mutex_);
    closed_ = true;
    waiting.swap(waiting_);
  }
  watch_.reset();
  looking_ = false;
  first_event_.reset();
  const Reloaded ending{failure("suimon is ending"), {}, {}, {}};
  for (const Done& done : waiting) done(ending);
}

Reloaded Reloader::reload() {
  const NotifyReload told;
  first_event_.reset();
  // Before the files are read: what changes in between is then seen as a change later.
  loaded_ = content_fingerprint(path_);
  Loaded loaded = load_policy(path_);
  Reloaded reloaded{failure("it has mistakes"), texts_of(loaded.mistakes),
                    texts_of(loaded.warnings), needs_restart_(loaded.policy.settings)};
  for (const std::string& warning : reloaded.warnings) spdlog::warn("{}", warning);
  for (const std::string& mistake : reloaded.mistakes) spdlog::error("{}", mistake);
  if (loaded.ok()) {
    const auto secrets = secrets_(loaded.policy.settings);
    reloaded.outcome =
        secrets ? policy_.install(std::move(loaded.policy), loop_.clock().now(), *secrets)
                : tl::unexpected(secrets.error());
  } else {
    reloaded.needs_restart.clear();
  }
  installed_();
  metrics_.reloaded(reloaded.outcome.has_value(), std::time(nullptr));
  if (!reloaded.outcome) {
    spdlog::error("{} was not loaded: {}; the running policy stays", path_,
                  loaded.ok() ? reloaded.outcome.error().text : "see above");
    return reloaded;
  }
  for (const std::string& name : reloaded.needs_restart) {
    spdlog::warn("{} is not what suimon was started with; it takes effect after a restart", name);
  }
  log_changes(path_, *reloaded.outcome);
  log_numbers(policy_.shapes());
  return reloaded;
}

}  // namespace suimon::app
