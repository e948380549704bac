# A program that counts its calls by itself, for the back end that only tests use.
add_executable(trace_counts_itself unit/trace/programs/counts_itself.c)
sprof_language(trace_counts_itself)
target_include_directories(trace_counts_itself PRIVATE ${CMAKE_SOURCE_DIR})
target_compile_definitions(trace_counts_itself PRIVATE _GNU_SOURCE
                           SPROF_ARCH_HEADER="${SPROF_ARCH_HEADER}") # plain, without a sanitizer
target_compile_options(trace_counts_itself PRIVATE -O1 -g -Wall -Wextra)
target_link_options(trace_counts_itself PRIVATE -static) # no libraries have to be planned and named
target_compile_definitions(unit_trace PRIVATE
                           TRACE_COUNTS_ITSELF="$<TARGET_FILE:trace_counts_itself>")
add_dependencies(unit_trace trace_counts_itself)
target_sources(unit_trace PRIVATE ${CMAKE_CURRENT_SOURCE_DIR}/unit/trace/self_counting.c
               ${CMAKE_CURRENT_SOURCE_DIR}/unit/trace/live.c
               ${CMAKE_CURRENT_SOURCE_DIR}/unit/store/recording.c
               ${CMAKE_CURRENT_SOURCE_DIR}/unit/store/place.c)
# self_counting.c chooses the back end.
target_link_options(unit_trace PRIVATE -Wl,--wrap=trace_entry_open)
# The tests build their fixtures with the system's compilers when they run.
target_link_libraries(unit_trace PRIVATE sprof_plan sprof_recording sprof_image sprof_unwind sprof_target
                      sprof_store sprof_model sqlite3)
target_compile_options(unit_trace PRIVATE -fms-extensions
                       $<$<C_COMPILER_ID:Clang>:-Wno-microsoft-anon-tag>)
sprof_scarce_memory(unit_trace)
