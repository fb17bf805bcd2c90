# The lists of proxies that ship are compiled in: data/proxies/NAME.txt becomes an entry of
# shipped_proxy_lists() (suimon/policy/proxy_lists.h).
file(GLOB lists CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/data/proxies/*.txt)
list(SORT lists)
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${lists})
set(entries "")
foreach(list ${lists})
  get_filename_component(name ${list} NAME_WE)
  file(READ ${list} text)
  string(APPEND entries "    {\"${name}\", R\"list(${text})list\"},\n")
endforeach()
file(CONFIGURE OUTPUT ${PROJECT_BINARY_DIR}/shipped_proxy_lists.cc @ONLY CONTENT [[
#include "suimon/policy/proxy_lists.h"

namespace suimon {
namespace {

constexpr ProxyList kShipped[] = {
@entries@};

}  // namespace

std::span<const ProxyList> shipped_proxy_lists() { return kShipped; }

}  // namespace suimon
]])
target_sources(suimon_policy PRIVATE ${PROJECT_BINARY_DIR}/shipped_proxy_lists.cc)
