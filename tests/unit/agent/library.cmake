# The programs the agent is loaded into: plain, whatever the build is instrumented with.
add_executable(agent_subject unit/agent/programs/subject.c)
target_compile_definitions(agent_subject PRIVATE _GNU_SOURCE)
target_compile_options(agent_subject PRIVATE -O1 -g -Wall -Wextra)
target_link_libraries(agent_subject PRIVATE Threads::Threads)

# Programs it cannot be loaded into, each in its own way.
file(WRITE ${CMAKE_BINARY_DIR}/generated/agent_empty.c "int main(void) { return 0; }\n")
file(WRITE ${CMAKE_BINARY_DIR}/generated/agent_go.c
     "__attribute__((section(\".gopclntab\"), used)) static const int table = 1;\nint main(void) { return 0; }\n")
add_executable(agent_static ${CMAKE_BINARY_DIR}/generated/agent_empty.c)
target_link_options(agent_static PRIVATE -static)
add_executable(agent_go ${CMAKE_BINARY_DIR}/generated/agent_go.c)
add_executable(agent_sanitized ${CMAKE_BINARY_DIR}/generated/agent_empty.c)
target_compile_options(agent_sanitized PRIVATE -fsanitize=address)
target_link_options(agent_sanitized PRIVATE -fsanitize=address)

target_sources(unit_agent PRIVATE ${CMAKE_CURRENT_SOURCE_DIR}/unit/agent/consumer.c)
target_compile_definitions(unit_agent PRIVATE AGENT_PRELOADED="$<TARGET_FILE:sprof-agent>"
    AGENT_SUBJECT="$<TARGET_FILE:agent_subject>" AGENT_STATIC="$<TARGET_FILE:agent_static>"
    AGENT_GO="$<TARGET_FILE:agent_go>" AGENT_SANITIZED="$<TARGET_FILE:agent_sanitized>")
add_dependencies(unit_agent sprof-agent agent_subject agent_static agent_go agent_sanitized)

# The same subject on another libc, where there is one.
find_program(SPROF_MUSL_GCC musl-gcc)
if(SPROF_MUSL_GCC)
    add_custom_command(OUTPUT ${CMAKE_BINARY_DIR}/agent_subject_musl
        COMMAND ${SPROF_MUSL_GCC} -O1 -g -D_GNU_SOURCE -o ${CMAKE_BINARY_DIR}/agent_subject_musl
                ${CMAKE_CURRENT_SOURCE_DIR}/unit/agent/programs/subject.c
        DEPENDS unit/agent/programs/subject.c)
    target_sources(unit_agent PRIVATE ${CMAKE_BINARY_DIR}/agent_subject_musl)
    target_compile_definitions(unit_agent PRIVATE AGENT_SUBJECT_MUSL="${CMAKE_BINARY_DIR}/agent_subject_musl")
endif()

# The tracing agent's table of threads, compiled as the agent is.
add_library(probe_table OBJECT ${CMAKE_SOURCE_DIR}/agent/probe/table.c)
sprof_probe_options(probe_table PROBE_MAPPED)
target_sources(unit_agent PRIVATE $<TARGET_OBJECTS:probe_table>)
set_source_files_properties(${CMAKE_CURRENT_SOURCE_DIR}/unit/agent/table_test.c PROPERTIES
                            COMPILE_DEFINITIONS PROBE_MAPPED)
