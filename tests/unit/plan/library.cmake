# The tests build their fixtures with the system's compilers when they run.
target_link_libraries(unit_plan PRIVATE sprof_recording sprof_image sprof_unwind sprof_target)
# Executes what relocate_test makes.
target_sources(unit_plan PRIVATE ${CMAKE_CURRENT_SOURCE_DIR}/unit/plan/execute.c
               ${CMAKE_CURRENT_SOURCE_DIR}/unit/plan/beside.c)
