// THE LIST of stores. To add one: a file in store/ and its line in stores.cc.
//
// A store is named by a URL, such as memory://?max_keys=1000000.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "suimon/core/when_full.h"
#include "suimon/result.h"
#include "suimon/store/store.h"
#include "suimon/store/store_url.h"

namespace suimon {

struct StoreOptions {
  WhenFull when_full = WhenFull::share;
  std::string password;                                 // of a remote store; "": what its URL says
  std::function<void(std::string_view)> complain = {};  // told what an operator should know
};

struct StoreKind {
  std::string_view scheme;  // what stands before "://"
  // Shared by many processes and outliving them, so that its keys need a secret that all share.
  bool remote;
  Result<void> (*check)(std::string_view url);
  Result<std::unique_ptr<Store>> (*open)(std::string_view url, const StoreOptions& options);
};

std::span<const StoreKind> registered_stores();

// The kind of store that the URL names; null when there is none such.
const StoreKind* find_store(std::string_view url);

// Whether open_store() knows such a URL; it may still fail for want of memory. The error says which
// part of the URL is wrong.
Result<void> check_store_url(std::string_view url);

// Opens the store that the URL names. Nothing is asked of a server before the first decision.
Result<std::unique_ptr<Store>> open_store(std::string_view url, const StoreOptions& options = {});

}  // namespace suimon
