# Shared by the suites: a recording with known rows.
target_sources(unit_store PRIVATE ${CMAKE_CURRENT_SOURCE_DIR}/unit/store/recording.c)
target_link_libraries(unit_store PRIVATE sqlite3)
