# model computes a square root.
target_link_libraries(sprof_model PRIVATE m)
# memory_test fails the n-th allocation, for every n.
target_link_options(unit_model PRIVATE -Wl,--wrap=malloc,--wrap=calloc,--wrap=realloc)
