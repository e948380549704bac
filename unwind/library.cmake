# One of the two answers complex rules.
set(other libunwind_fallback.c)
if(SPROF_HAS_LIBUNWIND)
    set(other no_libunwind.c)
endif()
get_target_property(sources sprof_unwind SOURCES)
list(REMOVE_ITEM sources ${CMAKE_SOURCE_DIR}/unwind/${other})
set_target_properties(sprof_unwind PROPERTIES SOURCES "${sources}")
