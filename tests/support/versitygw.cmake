# tarn::versitygw for test programs that need an S3 server.
add_library(tarn_versitygw STATIC ${CMAKE_CURRENT_LIST_DIR}/versitygw.cc)
add_library(tarn::versitygw ALIAS tarn_versitygw)
target_link_libraries(tarn_versitygw PRIVATE tarn_flags)
