// For tests: a certificate that is made on the spot, and a TLS client over a Client of the scene.
#pragma once

#include <gtest/gtest.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <string>

#include "suimon/net/tls.h"
#include "tests/net/server_scene.h"

namespace suimon::net {

// A self-signed certificate and its key, as PEM files in a folder that goes with it.
class CertificateFiles {
 public:
  CertificateFiles() {
    std::string name = (std::filesystem::temp_directory_path() / "suimon-tls-XXXXXX").string();
    folder_ = ::mkdtemp(name.data());
    EVP_PKEY* key = EVP_EC_gen("P-256");
    X509* certificate = X509_new();
    ASN1_INTEGER_set(X509_get_serialNumber(certificate), 1);
    X509_gmtime_adj(X509_getm_notBefore(certificate), -60);
    X509_gmtime_adj(X509_getm_notAfter(certificate), 3600);
    X509_set_pubkey(certificate, key);
    X509_NAME_add_entry_by_txt(X509_get_subject_name(certificate), "CN", MBSTRING_ASC,
                               reinterpret_cast<const unsigned char*>("localhost"), -1, -1, 0);
    X509_set_issuer_name(certificate, X509_get_subject_name(certificate));
    X509_sign(certificate, key, EVP_sha256());
    write("crt", [&](FILE* file) { PEM_write_X509(file, certificate); });
    write("key", [&](FILE* file) {
      PEM_write_PrivateKey(file, key, nullptr, nullptr, 0, nullptr, nullptr);
    });
    X509_free(certificate);
    EVP_PKEY_free(key);
  }
  ~CertificateFiles() { std::filesystem::remove_all(folder_); }
  CertificateFiles(const CertificateFiles&) = delete;
  CertificateFiles& operator=(const CertificateFiles&) = delete;

  TlsFiles files() const { return {folder_ + "/crt", folder_ + "/key", ""}; }

 private:
  template <class Write>
  void write(const std::string& name, Write&& fill) {
    FILE* const file = std::fopen((folder_ + "/" + name).c_str(), "w");
    fill(file);
    std::fclose(file);
  }
  std::string folder_;
};

// The client's side of TLS; its bytes go through a Client when the test says so.
class TlsPeer {
 public:
  // `protocols` are offered by ALPN.
  explicit TlsPeer(Client& client, std::string_view protocols = {}) : client_(client) {
    context_.reset(SSL_CTX_new(TLS_client_method()));
    stream_.reset(SSL_new(context_.get()));
    in_ = BIO_new(BIO_s_mem());
    out_ = BIO_new(BIO_s_mem());
    SSL_set_bio(stream_.get(), in_, out_);
    SSL_set_connect_state(stream_.get());
    SSL_set_alpn_protos(stream_.get(), reinterpret_cast<const unsigned char*>(protocols.data()),
                        static_cast<unsigned>(protocols.size()));
  }
  std::string protocol() const {
    const unsigned char* name = nullptr;
    unsigned size = 0;
    SSL_get0_alpn_selected(stream_.get(), &name, &size);
    return {reinterpret_cast<const char*>(name), size};
  }

  // Goes on with the handshake; the bytes that are to be sent.
  std::string step() {
    receive();
    SSL_do_handshake(stream_.get());
    ERR_clear_error();
    return pending();
  }
  bool established() const { return SSL_is_init_finished(stream_.get()) != 0; }

  std::string encrypted(std::string_view text) {
    SSL_write(stream_.get(), text.data(), static_cast<int>(text.size()));
    return pending();
  }
  // What has come and can be read.
  std::string read() {
    receive();
    std::string all;
    char buffer[4096];
    for (int got = 0; (got = SSL_read(stream_.get(), buffer, sizeof buffer)) > 0;) {
      all.append(buffer, static_cast<std::size_t>(got));
    }
    ERR_clear_error();
    return all;
  }
  bool heard_goodbye() const {
    return (SSL_get_shutdown(stream_.get()) & SSL_RECEIVED_SHUTDOWN) != 0;
  }

 private:
  struct Free {
    void operator()(SSL* stream) const { SSL_free(stream); }
    void operator()(SSL_CTX* context) const { SSL_CTX_free(context); }
  };
  void receive() {
    const std::string bytes = client_.read();
    if (!bytes.empty()) BIO_write(in_, bytes.data(), static_cast<int>(bytes.size()));
  }
  std::string pending() {
    std::string bytes(BIO_ctrl_pending(out_), '\0');
    if (!bytes.empty()) BIO_read(out_, bytes.data(), static_cast<int>(bytes.size()));
    return bytes;
  }

  Client& client_;
  std::unique_ptr<SSL_CTX, Free> context_;
  std::unique_ptr<SSL, Free> stream_;
  BIO* in_ = nullptr;   // the stream's
  BIO* out_ = nullptr;  // the stream's
};

}  // namespace suimon::net
