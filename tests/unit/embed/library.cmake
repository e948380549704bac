# The tests make programs with the system's compiler when they run, and load copies of libraries.
target_link_libraries(unit_embed PRIVATE sprof_plan ${CMAKE_DL_LIBS})
