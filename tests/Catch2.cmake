# Defines the target test_main: Catch2 with main(). Catch2 2 and 3 both work; only this file,
# catch.h and catch_main.cc depend on the version. A wasm build cannot link the machine's library,
# so it uses the single header of version 2.
add_library(test_main STATIC support/catch_main.cc)
target_link_libraries(test_main PUBLIC entitable_flags)
if(ENTITABLE_SANITIZE)
  target_compile_options(test_main PRIVATE -fno-sanitize=all)  # with Catch2 2, it has all of Catch2
endif()
target_compile_definitions(test_main PUBLIC
  ENTITABLE_TESTDATA="${CMAKE_CURRENT_SOURCE_DIR}/testdata")

if(EMSCRIPTEN)
  find_path(catch2_folder catch2/catch.hpp PATHS /usr/include /usr/local/include
    NO_CMAKE_FIND_ROOT_PATH NO_DEFAULT_PATH NO_CACHE)
  if(NOT catch2_folder)
    message(FATAL_ERROR "The wasm tests need Catch2 2 (catch2/catch.hpp), which is not installed")
  endif()
  # A folder with this header only: the other headers in /usr/include would hide Emscripten's C
  # library.
  set(shim ${CMAKE_BINARY_DIR}/catch2-headers)
  file(MAKE_DIRECTORY ${shim})
  file(CREATE_LINK ${catch2_folder}/catch2 ${shim}/catch2 SYMBOLIC)
  target_include_directories(test_main SYSTEM PUBLIC ${shim})
  target_compile_definitions(test_main PUBLIC
    ENTITABLE_CATCH2_MAJOR=2 CATCH_CONFIG_NO_POSIX_SIGNALS)
  # Tests convert 64-bit random numbers to sizes, which have 32 bits here. A separate library, so
  # that this flag comes after -Wconversion.
  add_library(test_flags INTERFACE)
  target_compile_options(test_flags INTERFACE -Wno-shorten-64-to-32)
  target_link_libraries(test_main PUBLIC test_flags)
else()
  find_package(Catch2 REQUIRED)
  target_link_libraries(test_main PUBLIC Catch2::Catch2)
  string(REGEX MATCH "^[0-9]+" catch2_major ${Catch2_VERSION})
  target_compile_definitions(test_main PUBLIC ENTITABLE_CATCH2_MAJOR=${catch2_major})
endif()

# Makes a program that Node runs like a native one: one file, the real file system, exit codes.
function(entitable_runs_in_node target)
  set_target_properties(${target} PROPERTIES SUFFIX .cjs)
  target_link_options(${target} PRIVATE
    -sENVIRONMENT=node -sEXIT_RUNTIME -sNODERAWFS -sSINGLE_FILE
    -sALLOW_MEMORY_GROWTH -sMAXIMUM_MEMORY=4GB)
endfunction()
