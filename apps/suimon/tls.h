// The daemon's certificates: which files they are, and reading them again.
//
// Thread rule: for the thread that starts and reloads; live() is handed to the loops.
#pragma once

#include "suimon/net/tls.h"
#include "suimon/policy/settings.h"

namespace suimon::app {

// What is in force: a flag (or its environment) goes before the file, each by itself.
TlsSettings chosen_tls(const TlsSettings& flags, const TlsSettings& file);

class Certificates {
 public:
  explicit Certificates(TlsSettings flags) : flags_(std::move(flags)) {}

  // Reads the files; none named is good, too, and means no TLS.
  Result<void> start(const TlsSettings& file);
  // Reads them again. What cannot be used is logged, and the running certificate stays.
  void reload(const TlsSettings& file);

  // What TCP listeners use; null: plain.
  const net::LiveTls* live() const { return on_ ? &live_ : nullptr; }

 private:
  Result<void> read(const TlsSettings& file);

  TlsSettings flags_;
  bool on_ = false;
  net::LiveTls live_;
};

}  // namespace suimon::app
