// THE LIST of stores. To add one: a file in store/ and its line in stores.cc.
//
// A store is named by a URL, such as memory://?max_keys=1000000.
#pragma once

#include <memory>
#include <span>
#include <string_view>

#include "suimon/core/when_full.h"
#include "suimon/result.h"
#include "suimon/store/store.h"
#include "suimon/store/store_url.h"

namespace suimon {

struct StoreKind {
  std::string_view scheme;  // what stands before "://"
  Result<std::unique_ptr<Store>> (*open)(const StoreUrl& url, WhenFull when_full);
};

std::span<const StoreKind> registered_stores();

// Opens the store that the URL names. The error says which part of the URL is wrong.
// Whether open_store() knows such a URL; it may still fail for want of memory or of a server.
Result<void> check_store_url(std::string_view url);

Result<std::unique_ptr<Store>> open_store(std::string_view url,
                                          WhenFull when_full = WhenFull::share);

}  // namespace suimon
