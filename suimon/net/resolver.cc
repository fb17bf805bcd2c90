#include "suimon/net/resolver.h"

#include <netdb.h>

#include <atomic>
#include <cstring>
#include <mutex>
#include <system_error>
#include <thread>
#include <utility>

namespace suimon::net {
namespace {

std::atomic<int> g_threads{0};

struct Answer {
  std::vector<SocketName> found;
  std::string why;
  int code = 0;
};

Answer look_up(const std::string& host, std::uint16_t port, int flags) {
  addrinfo hints{};
  hints.ai_flags = AI_NUMERICSERV | flags;
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* first = nullptr;
  Answer answer;
  answer.code = ::getaddrinfo(host.c_str(), std::to_string(port).c_str(), &hints, &first);
  if (answer.code != 0) {
    answer.why = host + ": " + ::gai_strerror(answer.code);
    return answer;
  }
  const std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)> all(first, &::freeaddrinfo);
  for (const addrinfo* next = first; next != nullptr; next = next->ai_next) {
    SocketName& name = answer.found.emplace_back();
    std::memcpy(&name.name, next->ai_addr, next->ai_addrlen);
    name.size = next->ai_addrlen;
  }
  return answer;
}

}  // namespace

struct Resolver::Question {
  std::mutex mutex;
  Loop* loop = nullptr;  // under mutex; null: nobody wants to know any more
  Heard heard;           // of the loop's thread
};

void Resolver::ask(const std::string& host, std::uint16_t port, Heard heard) {
  forget();
  Answer numeric = look_up(host, port, AI_NUMERICHOST);
  if (numeric.code == 0) return heard(std::move(numeric.found), {});
  if (g_threads.fetch_add(1) >= kMostThreads) {
    g_threads.fetch_sub(1);
    return heard({}, host + ": too many names are being looked up already");
  }
  question_ = std::make_shared<Question>();
  question_->loop = &loop_;
  question_->heard = std::move(heard);
  const auto work = [question = question_, host, port] {
    Answer answer = look_up(host, port, 0);
    {
      const std::lock_guard lock(question->mutex);
      // Should the loop have no place for it, whoever asked has a time-out.
      if (question->loop != nullptr) {
        question->loop->post([question, answer = std::move(answer)] {
          if (!question->heard) return;
          const Heard told = std::exchange(question->heard, nullptr);
          told(answer.found, answer.why);
        });
      }
    }
    g_threads.fetch_sub(1);
  };
  try {
    std::thread(work).detach();
  } catch (const std::system_error& error) {
    g_threads.fetch_sub(1);
    const Heard told = std::exchange(question_->heard, nullptr);
    question_.reset();
    told({}, host + ": " + error.what());
  }
}

void Resolver::forget() {
  if (!question_) return;
  // A thread that still looks it up keeps the question, and drops it when it is through.
  const std::shared_ptr<Question> question = std::exchange(question_, nullptr);
  question->heard = nullptr;
  const std::lock_guard lock(question->mutex);
  question->loop = nullptr;
}

}  // namespace suimon::net
