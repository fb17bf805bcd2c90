// Forked processes over one table, for tests that kill them. Not under the thread sanitizer, whose
// threads do not survive a fork.
#pragma once

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <functional>

#if defined(__SANITIZE_THREAD__)
#define SUIMON_SKIP_WITHOUT_FORK() GTEST_SKIP() << "no forks under the thread sanitizer"
#else
#define SUIMON_SKIP_WITHOUT_FORK() static_cast<void>(0)
#endif

namespace suimon::test {

// Runs `work` in a process of its own, which never outlives this one.
inline pid_t start_child(const std::function<void()>& work) {
  const pid_t parent = ::getpid();
  const pid_t child = ::fork();
  if (child != 0) return child;
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != parent) ::_exit(1);
  work();
  ::_exit(0);
}

// Waits for its end; true when it was killed, false when it came to its own end.
inline bool was_killed(pid_t child) {
  int status = 0;
  EXPECT_EQ(::waitpid(child, &status, 0), child);
  if (WIFSIGNALED(status)) {
    EXPECT_EQ(WTERMSIG(status), SIGKILL);
    return true;
  }
  EXPECT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 0);
  return false;
}

}  // namespace suimon::test
