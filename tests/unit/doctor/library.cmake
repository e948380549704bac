# Points that follow from the running kernel are not tested here: directories stand for machines.
target_link_libraries(unit_doctor PRIVATE sprof_report sprof_image sprof_target)
