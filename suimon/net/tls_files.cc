// From PEM files to what a server or a client shows: each mistake with its file and its cure.
#include <fcntl.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>

#include <cerrno>
#include <cstring>
#include <vector>

#include "suimon/net/fd.h"
#include "suimon/net/tls.h"

namespace suimon::net {

namespace {

constexpr std::size_t kMostBytes = 1 << 20;  // of a file
constexpr long kMostClientChain = 64 << 10;  // bytes of the certificates that a client shows
constexpr unsigned char kSessionContext[] = "suimon";

struct FreeCertificate {
  void operator()(X509* certificate) const { X509_free(certificate); }
};
struct FreeKey {
  void operator()(EVP_PKEY* key) const { EVP_PKEY_free(key); }
};
struct FreeBio {
  void operator()(BIO* bio) const { BIO_free(bio); }
};
using Certificate = std::unique_ptr<X509, FreeCertificate>;
using Key = std::unique_ptr<EVP_PKEY, FreeKey>;
using Bio = std::unique_ptr<BIO, FreeBio>;

tl::unexpected<Error> wrong(std::string_view what, const std::string& file, std::string_view why) {
  return failure(std::string(what) + " " + file + " " + std::string(why));
}

// OpenSSL's own words for its last error.
std::string reason() {
  const unsigned long code = ERR_peek_last_error();
  const char* const text = ERR_reason_error_string(code);
  ERR_clear_error();
  return text != nullptr ? text : "it was refused";
}

Result<std::string> read_file(std::string_view what, const std::string& path) {
  // A pipe that nobody writes to must not hold up a daemon that reloads.
  const Fd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (!file) return wrong(what, path, std::string("cannot be read: ") + std::strerror(errno));
  std::string text(kMostBytes + 1, '\0');
  std::size_t size = 0;
  while (size < text.size()) {
    const auto got = ::read(file.get(), text.data() + size, text.size() - size);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return wrong(what, path, std::string("cannot be read: ") + std::strerror(errno));
    if (got == 0) break;
    size += static_cast<std::size_t>(got);
  }
  if (size > kMostBytes) return wrong(what, path, "is longer than 1 MiB; name a PEM file");
  text.resize(size);
  return text;
}

Bio memory(const std::string& text) {
  return Bio(BIO_new_mem_buf(text.data(), static_cast<int>(text.size())));
}

Result<std::vector<Certificate>> read_certificates(std::string_view what, const std::string& path) {
  const auto text = read_file(what, path);
  if (!text) return tl::unexpected(text.error());
  const Bio bio = memory(*text);
  std::vector<Certificate> all;
  while (X509* next = PEM_read_bio_X509(bio.get(), nullptr, nullptr, nullptr)) {
    all.emplace_back(next);
  }
  // The end of the file shows itself as "no start line"; anything else is a broken certificate.
  const bool at_end = ERR_GET_REASON(ERR_peek_last_error()) == PEM_R_NO_START_LINE;
  if (!at_end) {
    return wrong(what, path,
                 "has a broken certificate at number " + std::to_string(all.size() + 1) + " (" +
                     reason() + "); write it out again in PEM");
  }
  ERR_clear_error();
  if (all.empty()) {
    return wrong(what, path,
                 "holds no certificate in PEM; it must have a block -----BEGIN CERTIFICATE-----");
  }
  return all;
}

Result<Key> read_key(const std::string& path) {
  constexpr std::string_view kWhat = "TLS key";
  const auto text = read_file(kWhat, path);
  if (!text) return tl::unexpected(text.error());
  bool asked = false;  // for a password, which only an encrypted key has
  const auto ask = [](char*, int, int, void* told) {
    *static_cast<bool*>(told) = true;
    return -1;
  };
  const Bio bio = memory(*text);
  Key key(PEM_read_bio_PrivateKey(bio.get(), nullptr, ask, &asked));
  if (asked) {
    ERR_clear_error();
    return wrong(kWhat, path,
                 "is encrypted, and a daemon cannot type its password; write it without one, "
                 "readable for its owner only: openssl pkey -in encrypted.pem -out key.pem");
  }
  if (!key) {
    ERR_clear_error();
    return wrong(kWhat, path,
                 "holds no private key in PEM; it must have a block -----BEGIN PRIVATE KEY-----");
  }
  return key;
}

Result<void> ask_for_clients(SSL_CTX* context, const std::string& path) {
  constexpr std::string_view kWhat = "TLS client CA";
  const auto all = read_certificates(kWhat, path);
  if (!all) return tl::unexpected(all.error());
  for (const Certificate& authority : *all) {
    if (X509_STORE_add_cert(SSL_CTX_get_cert_store(context), authority.get()) != 1 ||
        SSL_CTX_add_client_CA(context, authority.get()) != 1) {
      return wrong(kWhat, path, "cannot be used: " + reason());
    }
  }
  // Who lists an authority between the root and the clients trusts that one, not all of the root.
  X509_STORE_set_flags(SSL_CTX_get_cert_store(context), X509_V_FLAG_PARTIAL_CHAIN);
  SSL_CTX_set_verify(context, SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT, nullptr);
  return {};
}

void set_options(SSL_CTX* context) {
  SSL_CTX_set_min_proto_version(context, TLS1_2_VERSION);
  // With TLS 1.2 only what has forward secrecy and authenticates what it encrypts.
  SSL_CTX_set_cipher_list(context, "ECDHE+AESGCM:ECDHE+CHACHA20");
  SSL_CTX_set_options(context, SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION);
  SSL_CTX_set_mode(context, SSL_MODE_RELEASE_BUFFERS | SSL_MODE_ENABLE_PARTIAL_WRITE |
                                SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
  // One step a call: who sends nothing but new keys does not keep the loop from the others.
  SSL_CTX_clear_mode(context, SSL_MODE_AUTO_RETRY);
  // Sessions are resumed by tickets, which the clients keep: nothing grows here.
  SSL_CTX_set_session_cache_mode(context, SSL_SESS_CACHE_OFF);
  SSL_CTX_set_num_tickets(context, 1);
  SSL_CTX_set_session_id_context(context, kSessionContext, sizeof kSessionContext - 1);
  SSL_CTX_set_max_cert_list(context, kMostClientChain);
}

std::int64_t unix_seconds(const ASN1_TIME* time) {
  std::tm parts{};
  return ASN1_TIME_to_tm(time, &parts) == 1 ? ::timegm(&parts) : 0;
}

// Has the certificate of a file shown, and those behind it. Until when it is valid.
Result<std::int64_t> show(SSL_CTX* context, const std::string& certificate,
                          const std::string& key_file) {
  constexpr std::string_view kWhat = "TLS certificate";
  const auto chain = read_certificates(kWhat, certificate);
  if (!chain) return tl::unexpected(chain.error());
  if (SSL_CTX_use_certificate(context, chain->front().get()) != 1) {
    return wrong(kWhat, certificate, "cannot be used: " + reason());
  }
  for (std::size_t i = 1; i < chain->size(); ++i) {
    if (SSL_CTX_add1_chain_cert(context, (*chain)[i].get()) != 1) {
      return wrong(kWhat, certificate, "cannot be used: " + reason());
    }
  }
  const auto key = read_key(key_file);
  if (!key) return tl::unexpected(key.error());
  if (X509_check_private_key(chain->front().get(), key->get()) != 1) {
    ERR_clear_error();
    return wrong("TLS key", key_file,
                 "does not fit the first certificate of " + certificate +
                     "; name the key that it was made for, and put that certificate first");
  }
  if (SSL_CTX_use_PrivateKey(context, key->get()) != 1) {
    return wrong("TLS key", key_file, "cannot be used: " + reason());
  }
  return unix_seconds(X509_get0_notAfter(chain->front().get()));
}

// Has servers trusted that one of the authorities of a file has signed.
Result<void> trust(SSL_CTX* context, const std::string& path) {
  constexpr std::string_view kWhat = "TLS server CA";
  SSL_CTX_set_verify(context, SSL_VERIFY_PEER, nullptr);
  if (path.empty()) {
    if (SSL_CTX_set_default_verify_paths(context) == 1) return {};
    return failure("TLS server CA: the system's own cannot be read: " + reason());
  }
  const auto all = read_certificates(kWhat, path);
  if (!all) return tl::unexpected(all.error());
  for (const Certificate& authority : *all) {
    if (X509_STORE_add_cert(SSL_CTX_get_cert_store(context), authority.get()) != 1) {
      return wrong(kWhat, path, "cannot be used: " + reason());
    }
  }
  X509_STORE_set_flags(SSL_CTX_get_cert_store(context), X509_V_FLAG_PARTIAL_CHAIN);
  return {};
}

}  // namespace

void Tls::Free::operator()(ssl_ctx_st* context) const { SSL_CTX_free(context); }

Result<std::shared_ptr<const Tls>> Tls::load(const TlsFiles& files) {
  ERR_clear_error();
  auto tls = std::make_shared<Tls>();
  tls->context_.reset(SSL_CTX_new(TLS_server_method()));
  SSL_CTX* const context = tls->context_.get();
  if (context == nullptr) return failure("TLS cannot be used: " + reason());
  set_options(context);
  TlsStream::answer_protocols(context);

  auto valid_until = show(context, files.certificate, files.key);
  if (!valid_until) return tl::unexpected(valid_until.error());
  if (!files.client_ca.empty()) {
    if (auto asked = ask_for_clients(context, files.client_ca); !asked) {
      return tl::unexpected(asked.error());
    }
  }
  tls->valid_until_ = *valid_until;
  return tls;
}

Result<std::shared_ptr<const Tls>> Tls::load_client(const TlsClientFiles& files) {
  ERR_clear_error();
  auto tls = std::make_shared<Tls>();
  tls->context_.reset(SSL_CTX_new(TLS_client_method()));
  SSL_CTX* const context = tls->context_.get();
  if (context == nullptr) return failure("TLS cannot be used: " + reason());
  set_options(context);
  if (auto trusted = trust(context, files.ca); !trusted) return tl::unexpected(trusted.error());
  if (files.certificate.empty()) return tls;
  auto valid_until = show(context, files.certificate, files.key);
  if (!valid_until) return tl::unexpected(valid_until.error());
  tls->valid_until_ = *valid_until;
  return tls;
}

}  // namespace suimon::net
