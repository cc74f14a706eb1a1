# The three rules every folder uses: tarn_add_library, tarn_add_test, tarn_add_program.
include(GoogleTest)

add_library(tarn_flags INTERFACE)
target_compile_options(tarn_flags INTERFACE -Wall -Wextra -Wpedantic -Wshadow -Wconversion
                       -Wnon-virtual-dtor -Werror)
target_include_directories(tarn_flags INTERFACE ${PROJECT_SOURCE_DIR})
# A group includes its sources by their whole paths, so without this __FILE__ names the folder of the checkout: messages would
# show it, and a new clone would find none of its tests in ccache.
target_compile_options(tarn_flags INTERFACE -fmacro-prefix-map=${PROJECT_SOURCE_DIR}/=)
# In all targets, whatever they link: a precompiled header fits only the options that it was compiled with.
target_compile_options(tarn_flags INTERFACE -pthread)
if(TARN_SANITIZE)
  target_compile_options(tarn_flags INTERFACE -fsanitize=${TARN_SANITIZE}
                         -fno-sanitize-recover=all -fno-omit-frame-pointer)
  target_link_options(tarn_flags INTERFACE -fsanitize=${TARN_SANITIZE})
  # With its checks in between, g++ 12 takes an empty std::optional for one that is read.
  target_compile_options(tarn_flags INTERFACE $<$<CXX_COMPILER_ID:GNU>:-Wno-maybe-uninitialized>)
else()
  # Sanitizers bring checks of their own, which these would hide. tests/tidy/hardening.py reads the programs for each.
  # Debian's compiler may predefine _FORTIFY_SOURCE with another level.
  target_compile_options(tarn_flags INTERFACE -fstack-protector-strong -fPIE -U_FORTIFY_SOURCE
                         -D_FORTIFY_SOURCE=3 -D_GLIBCXX_ASSERTIONS)
  target_link_options(tarn_flags INTERFACE -pie -Wl,-z,relro,-z,now,-z,noexecstack)
  if(CMAKE_SYSTEM_PROCESSOR STREQUAL "x86_64")
    target_compile_options(tarn_flags INTERFACE -fcf-protection)
  endif()
endif()

# Precompiled headers of the standard library, for the targets of the three rules (docs/design/001-foundation.md).
# Sources include what they use all the same: the builds without TARN_PRECOMPILE show it.
if(TARN_PRECOMPILE)
  # -fpch-preprocess: ccache cannot preprocess such a source without it. The warnings see, through a precompiled header,
  # code of the standard library that g++ 12 wrongly warns about; builds without it keep them.
  target_compile_options(tarn_flags INTERFACE -fpch-preprocess -Wno-array-bounds -Wno-restrict
                         -Wno-stringop-overflow -Wno-stringop-overread)
  foreach(pch pch json_pch test_pch)
    file(CONFIGURE OUTPUT ${CMAKE_CURRENT_BINARY_DIR}/${pch}.cc CONTENT "")
    add_library(tarn_${pch} OBJECT ${CMAKE_CURRENT_BINARY_DIR}/${pch}.cc)
    target_link_libraries(tarn_${pch} PRIVATE tarn_flags)
    target_precompile_headers(tarn_${pch} PRIVATE
      <algorithm> <array> <charconv> <chrono> <functional> <map> <memory> <mutex> <optional> <set> <span> <string>
      <string_view> <thread> <utility> <variant> <vector>)
  endforeach()
  target_link_libraries(tarn_json_pch PRIVATE nlohmann_json::nlohmann_json)
  target_precompile_headers(tarn_json_pch PRIVATE <nlohmann/json.hpp>)
  target_link_libraries(tarn_test_pch PRIVATE GTest::gtest GTest::gmock)
  target_precompile_headers(tarn_test_pch PRIVATE <gmock/gmock.h> <gtest/gtest.h>)
endif()

# tarn_precompile(TARGET pch|json_pch|test_pch)
function(tarn_precompile target pch)
  if(TARN_PRECOMPILE)
    target_precompile_headers(${target} REUSE_FROM tarn_${pch})
  endif()
endfunction()

# tarn_unite(TARGET SOURCES): sources of the target are compiled in groups, each of which reads its headers once.
# subobject-linkage: a group includes its sources, so g++ takes what they keep to themselves for parts of a header.
function(tarn_unite target sources)
  if(TARN_UNITE)
    set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE ${sources})
    target_compile_options(${target} PRIVATE $<$<CXX_COMPILER_ID:GNU>:-Wno-subobject-linkage>)
  endif()
endfunction()

# tarn_add_library(NAME tree SRCS a.cc b.cc DEPS tarn::base PRIVATE_DEPS PkgConfig::ZSTD)
# makes tarn_tree with the alias tarn::tree. JSON: most of its sources include nlohmann/json.hpp. Else it is not
# worth precompiling, which costs each source 0.65 s whether it uses it or not (docs/design/001-foundation.md).
# APART: each source is compiled alone, since names of their anonymous namespaces agree by intent.
function(tarn_add_library)
  cmake_parse_arguments(A "JSON;APART" "NAME" "SRCS;DEPS;PRIVATE_DEPS" ${ARGN})
  add_library(tarn_${A_NAME} STATIC ${A_SRCS})
  add_library(tarn::${A_NAME} ALIAS tarn_${A_NAME})
  target_link_libraries(tarn_${A_NAME} PUBLIC ${A_DEPS} PRIVATE tarn_flags ${A_PRIVATE_DEPS})
  set(pch pch)
  if(A_JSON)
    set(pch json_pch)
  endif()
  tarn_precompile(tarn_${A_NAME} ${pch})
  if(NOT A_APART)
    tarn_unite(tarn_${A_NAME} 6)
  endif()
endfunction()

# tarn_add_test(NAME tree SRCS merge_test.cc DEPS tarn::tree LABELS unit [TIMEOUT 60] [FIXTURE postgres])
# makes one GoogleTest program tree_<label>_test that ctest runs as one test.
function(tarn_add_test)
  cmake_parse_arguments(A "" "NAME;TIMEOUT;FIXTURE" "SRCS;DEPS;LABELS" ${ARGN})
  list(GET A_LABELS 0 label)
  set(program ${A_NAME}_${label}_test)
  add_executable(${program} ${A_SRCS})
  target_link_libraries(${program} PRIVATE tarn_flags ${A_DEPS} GTest::gtest GTest::gmock GTest::gtest_main)
  tarn_precompile(${program} test_pch)
  tarn_unite(${program} 6)
  set_target_properties(${program} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests)
  add_test(NAME ${program} COMMAND ${program} --gtest_brief=1
           --gtest_output=xml:${CMAKE_BINARY_DIR}/results/${program}.xml)
  if(NOT A_TIMEOUT)
    set(A_TIMEOUT 400)
  endif()
  set_tests_properties(${program} PROPERTIES LABELS "${A_LABELS}" TIMEOUT ${A_TIMEOUT})
  if(A_FIXTURE)
    set_tests_properties(${program} PROPERTIES FIXTURES_REQUIRED ${A_FIXTURE})
  endif()
endfunction()

# tarn_add_program(NAME tarnd SRCS main.cc DEPS ...)
function(tarn_add_program)
  cmake_parse_arguments(A "" "NAME" "SRCS;DEPS" ${ARGN})
  add_executable(${A_NAME} ${A_SRCS})
  target_link_libraries(${A_NAME} PRIVATE tarn_flags ${A_DEPS})
  tarn_precompile(${A_NAME} pch)
endfunction()
