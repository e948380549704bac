# memory_test fails the n-th allocation, for every n.
sprof_scarce_memory(unit_base)
# file_test gives partial reads and signals.
target_link_options(unit_base PRIVATE -Wl,--wrap=pread)
