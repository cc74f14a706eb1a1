# tarn::postgres_test for test programs that need a database, and ctest's fixture "postgres" that
# gives them one server.
set(url_file ${CMAKE_BINARY_DIR}/tests/postgres.url)

add_library(tarn_postgres_test STATIC ${CMAKE_CURRENT_LIST_DIR}/postgres_test.cc)
add_library(tarn::postgres_test ALIAS tarn_postgres_test)
target_compile_definitions(tarn_postgres_test PRIVATE TARN_TEST_URL_FILE="${url_file}")
target_link_libraries(tarn_postgres_test PUBLIC tarn::db PRIVATE tarn_flags)

add_executable(postgres_fixture ${CMAKE_CURRENT_LIST_DIR}/postgres_fixture.cc)
target_link_libraries(postgres_fixture PRIVATE tarn_flags tarn::db)
set_target_properties(postgres_fixture PROPERTIES
  RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests)

add_test(NAME postgres_start COMMAND postgres_fixture start ${url_file})
add_test(NAME postgres_stop COMMAND postgres_fixture stop ${url_file})
set_tests_properties(postgres_start PROPERTIES FIXTURES_SETUP postgres TIMEOUT 120)
set_tests_properties(postgres_stop PROPERTIES FIXTURES_CLEANUP postgres TIMEOUT 60)
