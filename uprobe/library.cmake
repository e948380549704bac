# uprobe/calls.bpf.c becomes the header calls_program.h: the instructions of each of its sections,
# one program, as an array. They need no relocation, so no loader is needed but the bpf system call.
# (bpftool's skeletons know no programs for many uprobes.)
if(SPROF_BPF)
    set(generated ${CMAKE_BINARY_DIR}/generated_bpf)
    set(object ${generated}/uprobe/calls.bpf.o)
    set(header ${generated}/uprobe/calls_program.h)
    file(MAKE_DIRECTORY ${generated}/uprobe)
    set(uprobe_programs at_probe at_exec)
    foreach(program ${uprobe_programs})
        list(APPEND extract COMMAND ${CMAKE_OBJCOPY} -I elf64-little -O binary -j ${program} ${object}
                    ${object}.${program})
    endforeach()
    add_custom_command(
        OUTPUT ${header}
        COMMAND ${SPROF_BPF_CLANG} -target bpf -mcpu=v3 -O2 -Wall -Wextra -Wno-unused-parameter -Werror
                "-DSPROF_ARCH_BPF_HEADER=\"arch/${SPROF_ARCH}/bpf.h\"" -I${CMAKE_SOURCE_DIR}
                -idirafter ${SPROF_BPF_HEADERS} -idirafter /usr/include/${CMAKE_C_LIBRARY_ARCHITECTURE}
                -c ${CMAKE_SOURCE_DIR}/uprobe/calls.bpf.c -o ${object}
        COMMAND sprof_bpf_stack ${object}
        ${extract}
        COMMAND ${CMAKE_COMMAND} -D "programs=${uprobe_programs}" -D object=${object} -D header=${header}
                -P ${CMAKE_SOURCE_DIR}/cmake/SprofBytes.cmake
        DEPENDS ${CMAKE_SOURCE_DIR}/uprobe/calls.bpf.c ${CMAKE_SOURCE_DIR}/uprobe/calls.h
                ${CMAKE_SOURCE_DIR}/arch/${SPROF_ARCH}/bpf.h ${CMAKE_SOURCE_DIR}/cmake/SprofBytes.cmake
        COMMENT "BPF program uprobe/calls"
        VERBATIM)
    target_sources(sprof_uprobe PRIVATE ${header})
    target_include_directories(sprof_uprobe SYSTEM PRIVATE ${generated})
    target_compile_definitions(sprof_uprobe PRIVATE SPROF_BPF)
endif()
