# The recording that the store's own suites use.
target_sources(unit_top PRIVATE ${CMAKE_CURRENT_SOURCE_DIR}/unit/store/recording.c
               ${CMAKE_CURRENT_SOURCE_DIR}/unit/store/place.c)
target_link_libraries(unit_top PRIVATE sprof_report sprof_store sqlite3)
