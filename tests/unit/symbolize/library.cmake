# The tests build their fixtures with the system's compiler, binutils and xz when they run.
target_link_libraries(unit_symbolize PRIVATE sprof_symbolize sprof_image)
