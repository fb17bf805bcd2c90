// suimon serve: the daemon.
#include "apps/suimon/commands.h"
#include "apps/suimon/daemon.h"
#include "apps/suimon/log.h"

namespace suimon::app {

int serve(const ServeOptions& options) {
  int code = kGood;
  {
    Daemon daemon(options);
    code = daemon.run();
  }
  close_log(code);
  return code;
}

}  // namespace suimon::app
