// From an address to servers.
//
// Thread rule: the loop's thread, or before the loop runs.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "suimon/net/loop.h"
#include "suimon/result.h"
#include "suimon/store/redis/servers.h"
#include "suimon/store/redis/url.h"

namespace suimon::redis {

// Never waits, and does not fail because a server is down: it is dialled until it is there. The
// error says what is wrong with the URL, or with a file that it names. The loop must outlive the
// servers. A password that is given beside the URL is the one.
Result<std::unique_ptr<Servers>> open_servers(const Url& url, net::Loop& loop);
Result<std::unique_ptr<Servers>> open_servers(std::string_view url, net::Loop& loop,
                                              std::string password = {});

}  // namespace suimon::redis
