# The oracles: libdw reads the same tables, libunwind walks the same stacks.
execute_process(COMMAND ${CMAKE_C_COMPILER} -print-prog-name=cc1plus
                OUTPUT_VARIABLE cc1plus OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
target_sources(unit_unwind PRIVATE ${CMAKE_CURRENT_SOURCE_DIR}/unit/unwind/elf_source.c
               ${CMAKE_CURRENT_SOURCE_DIR}/unit/unwind/cfi_bytes.c
               ${CMAKE_CURRENT_SOURCE_DIR}/unit/unwind/scene.c
               ${CMAKE_CURRENT_SOURCE_DIR}/unit/unwind/own_process.c)
target_compile_definitions(unit_unwind PRIVATE SPROF_TEST_CC1PLUS="${cc1plus}")
target_link_libraries(unit_unwind PRIVATE dw elf unwind)
