# Shared by the suites: a recording with known rows.
target_sources(unit_store PRIVATE ${CMAKE_CURRENT_SOURCE_DIR}/unit/store/recording.c
               ${CMAKE_CURRENT_SOURCE_DIR}/unit/store/place.c)
target_link_libraries(unit_store PRIVATE sqlite3)
# former_test kills the process at each renaming.
target_link_options(unit_store PRIVATE -Wl,--wrap=renameat2)
# memory_test fails the n-th allocation, for every n.
sprof_scarce_memory(unit_store)
# docs_test runs the queries of docs/schema.md.
target_compile_definitions(unit_store PRIVATE SPROF_SOURCE_DIR="${CMAKE_SOURCE_DIR}")
