# Shared: places and queries of store's tests; processes made of this very one; recordings made by
# hand.
target_sources(unit_recording PRIVATE ${CMAKE_CURRENT_SOURCE_DIR}/unit/store/recording.c
               ${CMAKE_CURRENT_SOURCE_DIR}/unit/store/place.c
               ${CMAKE_CURRENT_SOURCE_DIR}/unit/recording/handmade.c
               ${CMAKE_CURRENT_SOURCE_DIR}/unit/recording/this_process.c)
target_link_libraries(unit_recording PRIVATE sprof_store sprof_model)
# recording_test lets the builder hang.
target_link_options(unit_recording PRIVATE -Wl,--wrap=recording_open_image)
