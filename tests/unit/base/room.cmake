# memory_test fails the n-th allocation, for every n.
sprof_scarce_memory(unit_base)
