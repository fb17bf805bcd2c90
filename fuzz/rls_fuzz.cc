// RateLimitRequests: our reader takes what Protocol Buffers takes and finds the same in it.
#include <envoy/service/ratelimit/v3/rls.pb.h>
#include <google/protobuf/stubs/logging.h>

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>

#include "suimon/door/grpc/rls_request.h"

namespace {

using envoy::service::ratelimit::v3::RateLimitRequest;

void require(bool truth, const char* what) {
  if (truth) return;
  std::fprintf(stderr, "rls_fuzz: %s\n", what);
  std::abort();
}

bool is_broken(const suimon::Result<void>& read) {
  return !read && read.error().text.find("no RateLimitRequest") != std::string::npos;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const google::protobuf::LogSilencer silence;  // about strings that are not UTF-8
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  suimon::door::RlsRequest ours;
  const auto read = ours.read(bytes);
  RateLimitRequest theirs;
  if (!theirs.ParseFromArray(data, static_cast<int>(size))) {
    // Strings that are not UTF-8 are the one thing that only we take.
    return 0;
  }
  // Groups are the one thing that only they take.
  if (is_broken(read)) {
    bool group = false;
    for (const char byte : bytes) group = group || (byte & 7) == 3;
    require(group, "a message that only Protocol Buffers reads");
    return 0;
  }
  if (!read) return 0;  // more or less than we take
  require(ours.domain() == theirs.domain(), "two domains");
  require(ours.descriptors().size() == static_cast<std::size_t>(theirs.descriptors_size()),
          "two counts of descriptors");
  for (int i = 0; i < theirs.descriptors_size(); ++i) {
    const auto& their = theirs.descriptors(i);
    const suimon::Request& our = ours.descriptors()[static_cast<std::size_t>(i)];
    std::size_t at = 0;
    for (const auto& entry : their.entries()) {
      if (entry.key() == suimon::door::RlsRequest::kAcceptLanguage) continue;
      require(at < our.attributes.size(), "an entry that only they see");
      require(our.attributes[at].name == entry.key(), "two keys");
      require(our.attributes[at++].value == entry.value(), "two values");
    }
    require(at == our.attributes.size(), "an entry that only we see");
    std::uint64_t cost = theirs.hits_addend() == 0 ? 1 : theirs.hits_addend();
    if (their.has_hits_addend()) cost = their.hits_addend().value();
    if (their.is_negative_hits()) cost = 0;
    require(our.cost == cost, "two costs");
  }
  return 0;
}
