# What the live tests share, and a program whose use of CPU time is known.
target_link_libraries(unit_sampler PRIVATE m)
target_sources(unit_sampler PRIVATE ${CMAKE_CURRENT_SOURCE_DIR}/unit/sampler/live.c)
add_executable(sampler_spin unit/sampler/programs/spin.c)
target_compile_definitions(sampler_spin PRIVATE _GNU_SOURCE) # no sanitizer: it starts threads of its own
target_link_libraries(sampler_spin PRIVATE Threads::Threads)
target_compile_definitions(unit_sampler PRIVATE SAMPLER_SPIN="$<TARGET_FILE:sampler_spin>")
add_dependencies(unit_sampler sampler_spin)

# A program with deep stacks that say what they are.
add_executable(sampler_deep unit/sampler/programs/deep.c)
target_include_directories(sampler_deep PRIVATE ${CMAKE_SOURCE_DIR})
target_compile_definitions(unit_sampler PRIVATE SAMPLER_DEEP="$<TARGET_FILE:sampler_deep>")
add_dependencies(unit_sampler sampler_deep)

# The agent, which the source beside perf events puts into commands.
add_dependencies(unit_sampler sprof-agent)
