# The tests build their fixtures with the system's compiler and binutils when they run.
target_link_libraries(unit_image PRIVATE sprof_image)
