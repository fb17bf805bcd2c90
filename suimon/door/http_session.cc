#include "suimon/door/http_session.h"

#include <algorithm>

#include "suimon/door/http_response.h"

namespace suimon::door {

class HttpSession final : public net::Session {
 public:
  HttpSession(HttpServer& server, net::Connection& connection)
      : server_(server), connection_(connection) {}

  std::size_t on_bytes(std::string_view in, net::Connection& connection) override;
  void on_timeout(net::Connection& connection) override;
  void on_close() override {
    if (pending_ != nullptr) pending_->session_ = nullptr;
  }
  bool idle() const override { return pending_ == nullptr && parser_ == nullptr; }
  void on_bad_proxy_header(std::string_view mistake, net::Connection& connection) override;

  void answered(const Exchange& exchange, int status, std::string_view lines,
                std::string_view body);

 private:
  friend class Exchange;
  void handle(const HttpRequest& request);
  void refuse(int status, std::string_view reason, bool head);
  void write(int status, std::string_view lines, std::string_view body, bool head, bool close);

  HttpServer& server_;
  net::Connection& connection_;
  std::unique_ptr<HttpParser> parser_;  // while a request is arriving
  Exchange* pending_ = nullptr;
  bool continue_sent_ = false;  // for the request that is being read
  bool in_bytes_ = false;       // on_bytes is on the stack and will flush
  bool closing_ = false;
};

std::size_t HttpSession::on_bytes(std::string_view in, net::Connection& connection) {
  if (const Instant now = connection.loop().now(); now != server_.woken_) server_.wake(now);
  // One request a call: the connection offers the rest again, unless too much is unsent.
  std::size_t consumed = 0;
  in_bytes_ = true;
  if (parser_ == nullptr) parser_ = server_.lend_parser();
  switch (parser_->parse(in, consumed)) {
    case HttpParser::Status::need_more:
      if (parser_->wants_continue() && !continue_sent_) {
        append_continue(connection_.out());
        continue_sent_ = true;
      }
      break;
    case HttpParser::Status::bad:
      refuse(parser_->error_status(), parser_->error_reason(), parser_->bad_head());
      parser_.reset();
      consumed = in.size();
      break;
    case HttpParser::Status::request: {
      continue_sent_ = false;
      // The session may end, and bring others to read, before handle() is through.
      std::unique_ptr<HttpParser> parser = std::move(parser_);
      handle(parser->request());
      server_.give_back(std::move(parser));
      break;
    }
  }
  in_bytes_ = false;
  return consumed;
}

void HttpSession::on_bad_proxy_header(std::string_view mistake, net::Connection& connection) {
  server_.wake(connection.loop().now());
  refuse(400, mistake, false);
}

// Says so to a client that may only be slow (RFC 9110 section 15.5.9).
void HttpSession::on_timeout(net::Connection&) {
  in_bytes_ = true;
  refuse(408, "the rest of the request did not come in time", false);
  in_bytes_ = false;
}

void HttpSession::refuse(int status, std::string_view reason, bool head) {
  server_.count_bad(status);
  server_.lines_.clear();
  server_.body_.clear();
  server_.handler_.append_error(status, reason, server_.lines_, server_.body_);
  write(status, server_.lines_, server_.body_, head, true);
}

void HttpSession::handle(const HttpRequest& request) {
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

void Exchange::refuse(int status, std::string_view lines, std::string_view body) {
  server_->count_bad(status);
  respond(status, lines, body);
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

std::unique_ptr<HttpParser> HttpServer::lend_parser() {
  if (spare_parsers_.empty()) return std::make_unique<HttpParser>(limits_);
  std::unique_ptr<HttpParser> parser = std::move(spare_parsers_.back());
  spare_parsers_.pop_back();
  return parser;
}

void HttpServer::give_back(std::unique_ptr<HttpParser> parser) {
  if (spare_parsers_.size() < kMostSpareParsers) spare_parsers_.push_back(std::move(parser));
}

void HttpServer::count_bad(int status) {
  const auto found = std::find(kBadStatuses.begin(), kBadStatuses.end(), status);
  if (found != kBadStatuses.end()) ++bad_[static_cast<std::size_t>(found - kBadStatuses.begin())];
}

void HttpServer::drain() {
  draining_ = true;
  server_.finish_accepting();
}

}  // namespace suimon::door
