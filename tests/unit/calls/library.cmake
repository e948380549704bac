# The tests build their fixtures with the system's compilers when they run.
target_link_libraries(unit_calls PRIVATE sprof_plan sprof_recording sprof_image sprof_unwind sprof_target)
target_compile_options(unit_calls PRIVATE -fms-extensions
                       $<$<C_COMPILER_ID:Clang>:-Wno-microsoft-anon-tag>)
sprof_scarce_memory(unit_calls)
