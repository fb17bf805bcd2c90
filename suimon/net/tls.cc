#include "suimon/net/tls.h"

#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>

#include <cassert>
#include <cerrno>
#include <utility>

namespace suimon::net {
namespace {

std::string reason_of_failure(const ssl_st* stream) {
  if (const long verdict = SSL_get_verify_result(stream); verdict != X509_V_OK) {
    return std::string("the certificate is refused: ") + X509_verify_cert_error_string(verdict);
  }
  const char* const text = ERR_reason_error_string(ERR_peek_last_error());
  return text != nullptr ? text : "the connection ended";
}

}  // namespace

// Has OpenSSL choose among the protocols that a client offers.
void TlsStream::answer_protocols(ssl_ctx_st* context) {
  const auto choose = [](ssl_st* stream, const unsigned char** chosen, unsigned char* length,
                         const unsigned char* offered, unsigned size, void*) {
    const std::string_view mine =
        static_cast<const TlsStream*>(SSL_get_app_data(stream))->protocols_;
    if (mine.empty()) return SSL_TLSEXT_ERR_NOACK;
    unsigned char* out = nullptr;
    const int found =
        SSL_select_next_proto(&out, length, reinterpret_cast<const unsigned char*>(mine.data()),
                              static_cast<unsigned>(mine.size()), offered, size);
    *chosen = out;
    return found == OPENSSL_NPN_NEGOTIATED ? SSL_TLSEXT_ERR_OK : SSL_TLSEXT_ERR_ALERT_FATAL;
  };
  SSL_CTX_set_alpn_select_cb(context, choose, nullptr);
}

void TlsStream::Free::operator()(ssl_st* stream) const { SSL_free(stream); }

TlsStream::TlsStream(const Tls& tls, int fd, std::string_view protocols)
    : stream_(SSL_new(tls.context_.get())), protocols_(protocols) {
  over_ = stream_ == nullptr;
  if (over_) return;  // no memory: the handshake fails
  SSL_set_app_data(stream_.get(), this);
  SSL_set_fd(stream_.get(), fd);
  SSL_set_accept_state(stream_.get());
}

TlsStream::TlsStream(const Tls& tls, int fd, const ServerName& server)
    : stream_(SSL_new(tls.context_.get())) {
  over_ = stream_ == nullptr;
  if (over_) return;
  SSL_set_fd(stream_.get(), fd);
  SSL_set_connect_state(stream_.get());
  const char* const name = server.text.c_str();
  if (X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(stream_.get()), name) != 1) {
    // A name, and only those are sent along (RFC 6066 section 3).
    if (SSL_set1_host(stream_.get(), name) != 1 ||
        SSL_set_tlsext_host_name(stream_.get(), name) != 1) {
      stream_.reset();
      over_ = true;
      mistake_ = "the server's name cannot be used";
    }
  }
  ERR_clear_error();
}

// What a step came to, as errno tells it; `result` is OpenSSL's.
ssize_t TlsStream::outcome(int result) {
  wants_output_ = false;
  if (result > 0) return result;
  switch (SSL_get_error(stream_.get(), result)) {
    case SSL_ERROR_WANT_WRITE:
      wants_output_ = true;
      [[fallthrough]];
    case SSL_ERROR_WANT_READ:
      errno = EAGAIN;
      return -1;
    case SSL_ERROR_ZERO_RETURN:
      return 0;
    default:
      mistake_ = reason_of_failure(stream_.get());
      // An end without a goodbye is one, too: whether more was to come, nobody can know.
      ERR_clear_error();
      over_ = true;
      errno = EPROTO;
      return -1;
  }
}

TlsStream::Handshake TlsStream::shake_hands() {
  if (stream_ == nullptr) return Handshake::failed;
  ERR_clear_error();
  if (outcome(SSL_do_handshake(stream_.get())) > 0) return Handshake::done;
  return errno == EAGAIN ? Handshake::going_on : Handshake::failed;
}

ssize_t TlsStream::read(std::span<char> room) {
  assert(room.size() >= kLeastRoom);
  ERR_clear_error();
  return outcome(SSL_read(stream_.get(), room.data(), static_cast<int>(room.size())));
}

ssize_t TlsStream::write(std::string_view bytes) {
  // A record at a time; a client that reads fast does not keep the loop from the others.
  constexpr std::size_t kMost = 256 << 10;
  std::size_t put = 0;
  while (put < bytes.size() && put < kMost) {
    ERR_clear_error();
    const std::string_view rest = bytes.substr(put, kMost);
    const ssize_t step =
        outcome(SSL_write(stream_.get(), rest.data(), static_cast<int>(rest.size())));
    if (step <= 0) {
      if (step == 0) errno = EPROTO;
      if (put == 0 || errno != EAGAIN) return -1;
      break;
    }
    put += static_cast<std::size_t>(step);
  }
  return static_cast<ssize_t>(put);
}

void TlsStream::say_goodbye() {
  if (std::exchange(over_, true) || SSL_is_init_finished(stream_.get()) == 0) return;
  ERR_clear_error();
  SSL_shutdown(stream_.get());
  ERR_clear_error();
}

}  // namespace suimon::net
