# Code for messages, from their definitions.
find_program(PROTOC_C protoc-c REQUIRED)
set(message_headers)
foreach(format pprof otlp_profiles otlp_traces)
    set(messages ${CMAKE_BINARY_DIR}/generated/${format}.pb-c)
    add_custom_command(OUTPUT ${messages}.c ${messages}.h
        COMMAND ${PROTOC_C} --proto_path=${CMAKE_SOURCE_DIR}/formats --c_out=${CMAKE_BINARY_DIR}/generated
                ${format}.proto
        DEPENDS ${CMAKE_SOURCE_DIR}/formats/${format}.proto ${CMAKE_SOURCE_DIR}/formats/otlp_profiles.proto)
    target_sources(sprof_formats PRIVATE ${messages}.c)
    set_source_files_properties(${messages}.c PROPERTIES COMPILE_OPTIONS -w)
    list(APPEND message_headers ${messages}.h)
endforeach()
# Others include the generated headers.
add_custom_target(sprof_formats_headers DEPENDS ${message_headers})
