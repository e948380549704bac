# The tests build their fixtures with the system's compilers when they run.
target_link_libraries(unit_probing PRIVATE sprof_plan sprof_recording sprof_image sprof_unwind sprof_target)
