# proto/ as a library of Protocol Buffers' own code: for tests, fuzzers and benchmarks that hold our
# hand-written reader and writer to it. The program does not use it.
find_package(Protobuf)
if(Protobuf_FOUND)
  set(proto envoy/service/ratelimit/v3/rls)
  set(generated ${PROJECT_BINARY_DIR}/proto)
  file(MAKE_DIRECTORY ${generated})
  add_custom_command(
    OUTPUT ${generated}/${proto}.pb.cc ${generated}/${proto}.pb.h
    COMMAND protobuf::protoc --cpp_out ${generated} -I ${PROJECT_SOURCE_DIR}/proto ${proto}.proto
    DEPENDS ${PROJECT_SOURCE_DIR}/proto/${proto}.proto VERBATIM)
  add_library(suimon_proto STATIC EXCLUDE_FROM_ALL ${generated}/${proto}.pb.cc)
  target_include_directories(suimon_proto SYSTEM PUBLIC ${generated})
  target_link_libraries(suimon_proto PUBLIC protobuf::libprotobuf)
endif()
