# The recording that the store's own suites use, with every kind of row.
target_sources(unit_report PRIVATE ${CMAKE_CURRENT_SOURCE_DIR}/unit/store/recording.c)
target_link_libraries(unit_report PRIVATE yajl)
