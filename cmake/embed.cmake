# Puts a text file of a room into its library as a string: `name`, of type std::string_view, in the
# namespace suimon::<room>, for which a header of the room has the declaration. @PROJECT_VERSION@ in
# the text is filled in.
function(suimon_embed room file name)
  set(path ${PROJECT_SOURCE_DIR}/suimon/${room}/${file})
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${path})
  file(READ ${path} text)
  string(REPLACE "@PROJECT_VERSION@" "${PROJECT_VERSION}" text "${text}")
  set(source ${PROJECT_BINARY_DIR}/embedded/${room}/${file}.cc)
  file(CONFIGURE OUTPUT ${source} @ONLY CONTENT [[
#include <string_view>

namespace suimon::@room@ {
extern const std::string_view @name@;
const std::string_view @name@ = R"embedded(@text@)embedded";
}
]])
  target_sources(suimon_${room} PRIVATE ${source})
endfunction()
