# Code for messages, from their definitions.
find_program(PROTOC_C protoc-c REQUIRED)
set(pprof_generated ${CMAKE_BINARY_DIR}/generated/pprof.pb-c.c)
add_custom_command(OUTPUT ${pprof_generated} ${CMAKE_BINARY_DIR}/generated/pprof.pb-c.h
    COMMAND ${PROTOC_C} --proto_path=${CMAKE_SOURCE_DIR}/formats --c_out=${CMAKE_BINARY_DIR}/generated
            pprof.proto
    DEPENDS ${CMAKE_SOURCE_DIR}/formats/pprof.proto)
target_sources(sprof_formats PRIVATE ${pprof_generated})
set_source_files_properties(${pprof_generated} PROPERTIES COMPILE_OPTIONS -w)
# Others include the generated header.
add_custom_target(sprof_formats_headers DEPENDS ${CMAKE_BINARY_DIR}/generated/pprof.pb-c.h)
