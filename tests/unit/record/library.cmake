# Shared: places and queries of store's tests; a world made of this very
# process; recordings made by hand.
target_sources(unit_record PRIVATE ${CMAKE_CURRENT_SOURCE_DIR}/unit/store/recording.c
               ${CMAKE_CURRENT_SOURCE_DIR}/unit/record/handmade.c
               ${CMAKE_CURRENT_SOURCE_DIR}/unit/record/this_process.c)
target_link_libraries(unit_record PRIVATE sprof_store sprof_model)
# describe_test says what the sampler found, without opening events; session_test lets it fail.
target_link_options(unit_record PRIVATE -Wl,--wrap=sampler_facts
                    -Wl,--wrap=sampler_next)
