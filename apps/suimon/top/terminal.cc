#include "apps/suimon/top/terminal.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <string>

namespace suimon::app {
namespace {

// Control sequences of ECMA-48, and the private modes of xterm that every terminal knows.
constexpr std::string_view kEnter = "\x1b[?1049h\x1b[?25l";
constexpr std::string_view kLeave = "\x1b[?25h\x1b[?1049l";
constexpr std::string_view kHome = "\x1b[H";
constexpr std::string_view kEraseLine = "\x1b[K";
constexpr std::string_view kEraseBelow = "\x1b[J";

void write_all(std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = ::write(STDOUT_FILENO, text.data(), text.size());
    if (written <= 0) return;  // a terminal that is gone needs nothing more
    text.remove_prefix(static_cast<std::size_t>(written));
  }
}

}  // namespace

Terminal::Terminal() {
  if (::tcgetattr(STDIN_FILENO, &before_) == 0) {
    termios raw = before_;
    raw.c_lflag &= ~static_cast<tcflag_t>(ICANON | ECHO);
    changed_ = ::tcsetattr(STDIN_FILENO, TCSAFLUSH, &raw) == 0;
  }
  write_all(kEnter);
}

Terminal::~Terminal() {
  write_all(kLeave);
  if (changed_) ::tcsetattr(STDIN_FILENO, TCSAFLUSH, &before_);
}

ScreenSize Terminal::size() const {
  winsize window{};
  if (::ioctl(STDOUT_FILENO, TIOCGWINSZ, &window) != 0 || window.ws_col == 0) return {80, 24};
  return {window.ws_col, window.ws_row};
}

void Terminal::show(std::string_view screen) const {
  std::string out(kHome);
  for (const char c : screen) {
    if (c == '\n') out += kEraseLine;
    out += c == '\n' ? std::string_view("\r\n") : std::string_view(&c, 1);
  }
  if (out.ends_with("\r\n")) out.resize(out.size() - 2);  // a last one would scroll
  write_all(out.append(kEraseBelow));
}

}  // namespace suimon::app
