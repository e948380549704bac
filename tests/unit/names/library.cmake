# Names of a library are read with the demangler.
target_link_libraries(unit_names PRIVATE sprof_symbolize)
