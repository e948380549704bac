# Shared: places and queries of store's tests, recordings made by hand, a process table made of this process.
target_sources(unit_record PRIVATE ${CMAKE_CURRENT_SOURCE_DIR}/unit/store/recording.c
               ${CMAKE_CURRENT_SOURCE_DIR}/unit/store/place.c
               ${CMAKE_CURRENT_SOURCE_DIR}/unit/recording/handmade.c
               ${CMAKE_CURRENT_SOURCE_DIR}/unit/recording/this_process.c)
target_link_libraries(unit_record PRIVATE sprof_import sprof_store sprof_model)
# describe_test says what the sampler found, without opening events; session_test lets it fail, or take long.
target_link_options(unit_record PRIVATE -Wl,--wrap=sampler_facts
                    -Wl,--wrap=sampler_next -Wl,--wrap=sampler_stop)
