#include "suimon/door/http_session.h"

#include "suimon/door/http_response.h"

namespace suimon::door {

class HttpSession final : public net::Session {
 public:
  HttpSession(HttpServer& server, net::Connection& connection)
      : server_(server), connection_(connection), parser_(server.limits_) {}

  std::size_t on_bytes(std::string_view in, net::Connection& connection) override;
  void on_close() override {
    if (pending_ != nullptr) pending_->session_ = nullptr;
  }
  bool idle() const override { return pending_ == nullptr && !reading_; }
  void on_bad_proxy_header(std::string_view mistake, net::Connection& connection) override;

  void answered(const Exchange& exchange, int status, std::string_view lines,
                std::string_view body);

 private:
  friend class Exchange;
  void handle();
  void write_error(int status, std::string_view reason);
  void write(int status, std::string_view lines, std::string_view body, bool head, bool close);

  HttpServer& server_;
  net::Connection& connection_;
  HttpParser parser_;
  Exchange* pending_ = nullptr;
  bool reading_ = false;        // a request has begun to arrive
  bool continue_sent_ = false;  // for the request that is being read
  bool in_bytes_ = false;       // on_bytes is on the stack and will flush
  bool closing_ = false;
};

std::size_t HttpSession::on_bytes(std::string_view in, net::Connection& connection) {
  if (const Instant now = connection.loop().now(); now != server_.woken_) server_.wake(now);
  // One request a call: the connection offers the rest again, unless too much is unsent.
  std::size_t consumed = 0;
  in_bytes_ = true;
  switch (parser_.parse(in, consumed)) {
    case HttpParser::Status::need_more:
      reading_ = true;
      if (parser_.wants_continue() && !continue_sent_) {
        append_continue(connection_.out());
        continue_sent_ = true;
      }
      break;
    case HttpParser::Status::bad:
      write_error(parser_.error_status(), parser_.error_reason());
      consumed = in.size();
      break;
    case HttpParser::Status::request:
      reading_ = continue_sent_ = false;
      handle();
      break;
  }
  in_bytes_ = false;
  return consumed;
}

void HttpSession::on_bad_proxy_header(std::string_view mistake, net::Connection& connection) {
  server_.wake(connection.loop().now());
  write_error(400, mistake);
}

// Answers what is no request, as the last thing on the connection.
void HttpSession::write_error(int status, std::string_view reason) {
  server_.lines_.clear();
  server_.body_.clear();
  server_.handler_.append_error(status, reason, server_.lines_, server_.body_);
  write(status, server_.lines_, server_.body_, false, true);
}

void HttpSession::handle() {
  const HttpRequest& request = parser_.request();
  Exchange& exchange = server_.exchanges_.take();
  exchange.server_ = &server_;
  exchange.session_ = this;
  exchange.head_ = request.method == "HEAD";
  exchange.keep_alive_ = request.keep_alive;
  exchange.minor_ = request.minor;
  pending_ = &exchange;
  server_.handler_.handle(request, connection_.peer(), exchange);
  if (pending_ != nullptr) connection_.pause();  // the answer comes later
}

void HttpSession::answered(const Exchange& exchange, int status, std::string_view lines,
                           std::string_view body) {
  pending_ = nullptr;
  const bool close = !exchange.keep_alive_ || server_.draining_;
  if (exchange.minor_ == 0 && !close) {  // such a client does not expect it (RFC 9112 section 9.3)
    write(status, std::string(lines) + "Connection: keep-alive\r\n", body, exchange.head_, close);
  } else {
    write(status, lines, body, exchange.head_, close);
  }
  if (in_bytes_) return;
  connection_.flush();
  if (!closing_) connection_.resume();
}

void HttpSession::write(int status, std::string_view lines, std::string_view body, bool head,
                        bool close) {
  append_response({.status = status,
                   .lines = lines,
                   .body = body,
                   .date = server_.date_,
                   .close = close,
                   .head = head},
                  connection_.out());
  if (close) {
    closing_ = true;
    connection_.close_after_flush();
  }
}

void Exchange::respond(int status, std::string_view lines, std::string_view body) {
  HttpSession* session = session_;
  if (session != nullptr) session->answered(*this, status, lines, body);
  session_ = nullptr;
  server_->exchanges_.give_back(*this);
}

const std::optional<Address>& Exchange::proxied_client() const {
  return session_->connection_.proxied_client();
}

HttpServer::HttpServer(net::Loop& loop, net::Fd listener, HttpHandler& handler,
                       const HttpLimits& limits, const net::ServerLimits& server_limits,
                       std::time_t (*unix_seconds)(), net::Greeting greeting)
    : handler_(handler),
      limits_(limits),
      unix_seconds_(unix_seconds),
      server_(
          loop, std::move(listener),
          [this](net::Connection& connection) {
            return std::make_unique<HttpSession>(*this, connection);
          },
          server_limits, std::move(greeting)) {}

// The first bytes of a wake-up.
void HttpServer::wake(Instant now) {
  woken_ = now;
  handler_.wake(now);
  if (now < date_until_) return;
  date_until_ = now + std::chrono::seconds(1);
  date_ = imf_fixdate(unix_seconds_());
}

void HttpServer::drain() {
  draining_ = true;
  server_.finish_accepting();
}

}  // namespace suimon::door
