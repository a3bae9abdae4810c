# The target host_nlohmann: nlohmann/json, header only, for native and cross builds alike.
#
# Natively it is the installed package. A cross build must not see the host's include folder as a
# whole (its C library would hide the target's), so there the header's own folder alone is linked
# into the build tree. Set ENTITABLE_NLOHMANN_INCLUDE to the folder above nlohmann/json.hpp if it is
# elsewhere.
set(ENTITABLE_NLOHMANN_INCLUDE "" CACHE PATH "Folder that contains nlohmann/json.hpp")

function(entitable_find_nlohmann)
  add_library(host_nlohmann INTERFACE)
  if(NOT CMAKE_CROSSCOMPILING AND NOT ENTITABLE_NLOHMANN_INCLUDE)
    find_package(nlohmann_json QUIET)
    if(nlohmann_json_FOUND)
      target_link_libraries(host_nlohmann INTERFACE nlohmann_json::nlohmann_json)
      return()
    endif()
  endif()
  find_path(nlohmann_folder nlohmann/json.hpp
    PATHS "${ENTITABLE_NLOHMANN_INCLUDE}" /usr/include /usr/local/include
    NO_CMAKE_FIND_ROOT_PATH NO_DEFAULT_PATH NO_CACHE)
  if(NOT nlohmann_folder)
    message(FATAL_ERROR "nlohmann/json.hpp not found: install nlohmann-json3-dev (Debian) or set "
      "ENTITABLE_NLOHMANN_INCLUDE to the folder that contains nlohmann/json.hpp")
  endif()
  set(shim ${CMAKE_BINARY_DIR}/host-headers)
  file(MAKE_DIRECTORY ${shim})
  file(CREATE_LINK ${nlohmann_folder}/nlohmann ${shim}/nlohmann SYMBOLIC)
  target_include_directories(host_nlohmann SYSTEM INTERFACE ${shim})
endfunction()

entitable_find_nlohmann()
