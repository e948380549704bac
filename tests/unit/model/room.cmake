# model computes a square root.
target_link_libraries(sprof_model PRIVATE m)
