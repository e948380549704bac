# model computes a square root.
target_link_libraries(sprof_model PRIVATE m)
# memory_test fails the n-th allocation, for every n.
sprof_scarce_memory(unit_model)
