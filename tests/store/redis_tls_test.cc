// One server behind TLS: who is trusted, who must show a certificate.
#include "tests/store/redis_process.h"

namespace suimon::test {
namespace {

using redis::Fate;

// An authority, and certificates that it has signed: for the server at 127.0.0.1 (and the name
// redis.test) and for a client. Made by the openssl program.
class Authority {
 public:
  Authority() {
    const std::string in = "cd " + folder_.path() + " && ";
    const std::string quiet = " >/dev/null 2>&1";
    const std::string key = " -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes ";
    good_ = run(in + "openssl req -x509" + key + "-keyout ca.key -out ca.crt -days 2 -subj /CN=ca" +
                quiet) &&
            run(in + "printf 'subjectAltName=IP:127.0.0.1,DNS:redis.test' > san") &&
            sign(in, key, quiet, "server", " -extfile san") && sign(in, key, quiet, "client", "");
  }
  bool good() const { return good_; }
  std::string file(const std::string& name) const { return folder_.path() + "/" + name; }
  std::vector<std::string> server_arguments(int tls_port, const char* clients) const {
    return {"--tls-port",         std::to_string(tls_port),
            "--tls-cert-file",    file("server.crt"),
            "--tls-key-file",     file("server.key"),
            "--tls-ca-cert-file", file("ca.crt"),
            "--tls-auth-clients", clients};
  }

 private:
  static bool run(const std::string& command) { return std::system(command.c_str()) == 0; }
  static bool sign(const std::string& in, const std::string& key, const std::string& quiet,
                   const std::string& name, const std::string& extra) {
    return run(in + "openssl req" + key + "-keyout " + name + ".key -out " + name +
               ".csr -subj /CN=" + name + quiet) &&
           run(in + "openssl x509 -req -in " + name + ".csr -CA ca.crt -CAkey ca.key -days 2 " +
               "-CAcreateserial -out " + name + ".crt" + extra + quiet);
  }

  TemporaryFolder folder_;
  bool good_ = false;
};

class RedisTls : public testing::Test {
 protected:
  void SetUp() override {
    ::signal(SIGPIPE, SIG_IGN);
    if (!RedisProcess::available()) GTEST_SKIP() << "there is no redis-server";
    ASSERT_TRUE(authority_.good()) << "openssl makes no certificates";
  }
  static std::string url(int port, const std::string& options) {
    return "rediss://127.0.0.1:" + std::to_string(port) + "?timeout=5s" + options;
  }
  // Why a server cannot be used.
  static std::string refusal(const std::string& url) {
    ServersScene scene(url);
    EXPECT_TRUE(scene.turn_until([&] { return scene.servers->counters().breakers_open == 1; }));
    const Heard heard = scene.add("k");
    EXPECT_EQ(heard.fate, Fate::not_run);
    return heard.text;
  }

  Authority authority_;
};

TEST_F(RedisTls, ServerThatShowsATrustedCertificateIsUsed) {
  const int port = free_port();
  RedisProcess server(authority_.server_arguments(port, "no"));
  const std::string ca = "&tls_ca=" + authority_.file("ca.crt");
  ServersScene scene(url(port, ca + "&connect_timeout=5s"));
  EXPECT_EQ(scene.add("k").integer, 1);
  // More than a record, both ways.
  const std::string large(100'000, 'x');
  EXPECT_EQ(scene.add(large).integer, 1);
  ServersScene named(url(port, ca + "&tls_server_name=redis.test"));
  EXPECT_EQ(named.add("k").integer, 2);

  EXPECT_NE(refusal(url(port, "")).find("certificate is refused"), std::string::npos);
  const std::string other = refusal(url(port, ca + "&tls_server_name=other.test"));
  EXPECT_NE(other.find("hostname mismatch"), std::string::npos) << other;
  EXPECT_NE(refusal(url(server.port(), ca + "&connect_timeout=100ms")).find("TLS"),
            std::string::npos)
      << "it is plain there";
}

TEST_F(RedisTls, ClientShowsACertificateWhereOneIsAskedFor) {
  const int port = free_port();
  RedisProcess server(authority_.server_arguments(port, "yes"));
  const std::string ca = "&tls_ca=" + authority_.file("ca.crt");
  ServersScene scene(url(port, ca + "&tls_cert=" + authority_.file("client.crt") +
                                   "&tls_key=" + authority_.file("client.key")));
  EXPECT_EQ(scene.add("k").integer, 1);
  EXPECT_FALSE(refusal(url(port, ca)).empty());
}

TEST_F(RedisTls, FileThatIsNotThereIsSaidWhenItIsOpened) {
  BootClock clock;
  net::Loop loop{clock};
  const auto opened = redis::open_servers("rediss://h?tls_ca=/nowhere/ca.crt", loop);
  ASSERT_FALSE(opened);
  EXPECT_NE(opened.error().text.find("/nowhere/ca.crt"), std::string::npos);
}

}  // namespace
}  // namespace suimon::test
