# The recording that the store's own suites use, with every kind of row; SQLite to damage it.
target_sources(unit_report PRIVATE ${CMAKE_CURRENT_SOURCE_DIR}/unit/store/recording.c
               ${CMAKE_CURRENT_SOURCE_DIR}/unit/store/place.c)
target_link_libraries(unit_report PRIVATE yajl sqlite3 z)
# memory_test fails the n-th allocation, for every n.
sprof_scarce_memory(unit_report)
