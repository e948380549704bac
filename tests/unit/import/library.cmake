# Shared: places and queries of store's tests, recordings made by hand; imports.
target_sources(unit_import PRIVATE ${CMAKE_CURRENT_SOURCE_DIR}/unit/import/importing.c
               ${CMAKE_CURRENT_SOURCE_DIR}/unit/store/recording.c
               ${CMAKE_CURRENT_SOURCE_DIR}/unit/store/place.c
               ${CMAKE_CURRENT_SOURCE_DIR}/unit/recording/handmade.c
               ${CMAKE_CURRENT_SOURCE_DIR}/unit/recording/this_process.c)
target_link_libraries(unit_import PRIVATE sprof_formats sprof_recording sprof_image sprof_store sprof_model z)
add_dependencies(unit_import sprof_formats_headers)
