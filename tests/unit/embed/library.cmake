# The tests make a program with the system's compiler when they run.
target_link_libraries(unit_embed PRIVATE sprof_plan)
