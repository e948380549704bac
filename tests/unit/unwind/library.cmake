# The oracles: libdw reads the same tables, libunwind walks the same stacks.
set(unwind_tests ${CMAKE_CURRENT_SOURCE_DIR}/unit/unwind)
execute_process(COMMAND gcc -print-prog-name=cc1plus
                OUTPUT_VARIABLE cc1plus OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
target_sources(unit_unwind PRIVATE ${unwind_tests}/elf_source.c ${unwind_tests}/cfi_bytes.c
               ${unwind_tests}/go_bytes.c ${unwind_tests}/scene.c ${unwind_tests}/own_process.c
               ${unwind_tests}/process_space.c)
target_compile_definitions(unit_unwind PRIVATE SPROF_TEST_CC1PLUS="${cc1plus}"
                           SPROF_TEST_CPP="${unwind_tests}/work_for_cc1plus.cpp"
                           SPROF_TEST_GO_PROGRAM="${CMAKE_CURRENT_BINARY_DIR}/unwind_go_program"
                           SPROF_TEST_MUSL_PROGRAM="${CMAKE_CURRENT_BINARY_DIR}/unwind_musl_program")
target_link_libraries(unit_unwind PRIVATE dw elf unwind)

find_program(SPROF_GO go)
if(SPROF_GO)
    add_custom_command(OUTPUT ${CMAKE_CURRENT_BINARY_DIR}/unwind_go_program
                       COMMAND ${CMAKE_COMMAND} -E env GO111MODULE=off
                               GOCACHE=${CMAKE_CURRENT_BINARY_DIR}/go-cache
                               ${SPROF_GO} build -o ${CMAKE_CURRENT_BINARY_DIR}/unwind_go_program
                               ${unwind_tests}/go_program.go
                       DEPENDS ${unwind_tests}/go_program.go)
    target_sources(unit_unwind PRIVATE ${CMAKE_CURRENT_BINARY_DIR}/unwind_go_program)
endif()

find_program(SPROF_MUSL_GCC musl-gcc)
if(SPROF_MUSL_GCC)
    add_custom_command(OUTPUT ${CMAKE_CURRENT_BINARY_DIR}/unwind_musl_program
                       COMMAND ${SPROF_MUSL_GCC} -O2 -fPIE -static-pie ${unwind_tests}/musl_program.c
                               -o ${CMAKE_CURRENT_BINARY_DIR}/unwind_musl_program -lm
                       DEPENDS ${unwind_tests}/musl_program.c)
    target_sources(unit_unwind PRIVATE ${CMAKE_CURRENT_BINARY_DIR}/unwind_musl_program)
endif()
