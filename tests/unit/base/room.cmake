# memory_test fails the n-th allocation, for every n.
target_link_options(unit_base PRIVATE -Wl,--wrap=malloc,--wrap=calloc,--wrap=realloc)
