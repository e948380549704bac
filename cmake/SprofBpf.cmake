# BPF programs: library/bpf/NAME.bpf.c, compiled by clang, becomes the header library/bpf/NAME.lskel.h, a
# light skeleton: C that loads the programs with nothing but the bpf system call. The kernel finds the
# members of its own structs when it loads them, so no kernel's type information is needed here.
option(SPROF_BPF "Build the BPF programs, where clang, bpftool and libbpf's headers are found" ON)
set(SPROF_BPF_MISSING "")
if(SPROF_BPF)
    find_program(SPROF_BPF_CLANG NAMES clang clang-19 clang-18 clang-17 clang-16 clang-15 clang-14)
    find_program(SPROF_BPFTOOL bpftool PATHS /usr/sbin /sbin)
    find_path(SPROF_BPF_HEADERS bpf/skel_internal.h)
    foreach(part "SPROF_BPF_CLANG:clang" "SPROF_BPFTOOL:bpftool" "SPROF_BPF_HEADERS:libbpf-dev 0.5 or later")
        string(REPLACE ":" ";" part ${part})
        list(GET part 0 variable)
        list(GET part 1 package)
        if(NOT ${variable})
            list(APPEND SPROF_BPF_MISSING ${package})
        endif()
    endforeach()
    if(NOT EXISTS ${CMAKE_SOURCE_DIR}/arch/${SPROF_ARCH}/bpf.h)
        list(APPEND SPROF_BPF_MISSING arch/${SPROF_ARCH}/bpf.h)
    endif()
    mark_as_advanced(SPROF_BPF_CLANG SPROF_BPFTOOL SPROF_BPF_HEADERS)
endif()

if(NOT SPROF_BPF)
    message(STATUS "sprof: without BPF, as asked")
elseif(SPROF_BPF_MISSING)
    list(JOIN SPROF_BPF_MISSING ", " missing)
    message(STATUS "sprof: without BPF: missing are ${missing} (dev/setup installs what the system has of them). Recording costs "
                   "more without it, and some deep stacks are not captured at the moment of their samples.")
    set(SPROF_BPF OFF)
endif()

# Checks that the stacks of an object's programs fit the kernel's limit.
if(SPROF_BPF)
    add_executable(sprof_bpf_stack ${CMAKE_SOURCE_DIR}/cmake/bpf_stack.c)
    sprof_options(sprof_bpf_stack)
    target_link_libraries(sprof_bpf_stack PRIVATE elf)
endif()

# sprof_bpf(library): the skeletons of its programs, and SPROF_BPF for its sources.
function(sprof_bpf library)
    set(directory ${CMAKE_SOURCE_DIR}/${library}/bpf)
    file(GLOB programs CONFIGURE_DEPENDS ${directory}/*.bpf.c)
    file(GLOB headers CONFIGURE_DEPENDS ${directory}/*.h)
    if(NOT SPROF_BPF OR NOT programs)
        return()
    endif()
    set(generated ${CMAKE_BINARY_DIR}/generated_bpf)
    file(MAKE_DIRECTORY ${generated}/${library}/bpf)
    foreach(program ${programs})
        get_filename_component(name ${program} NAME_WE)
        set(object ${generated}/${library}/bpf/${name}.bpf.o)
        set(skeleton ${generated}/${library}/bpf/${name}.lskel.h)
        add_custom_command(
            OUTPUT ${skeleton}
            COMMAND ${SPROF_BPF_CLANG} -target bpf -mcpu=v3 -O2 -g -Wall -Wextra -Wno-unused-parameter -Werror
                    "-DSPROF_ARCH_BPF_HEADER=\"arch/${SPROF_ARCH}/bpf.h\""
                    -fdebug-prefix-map=${CMAKE_SOURCE_DIR}/= -I${CMAKE_SOURCE_DIR}
                    -idirafter ${SPROF_BPF_HEADERS} -idirafter /usr/include/${CMAKE_C_LIBRARY_ARCHITECTURE}
                    -c ${program} -o ${object}
            COMMAND sprof_bpf_stack ${object}
            COMMAND ${SPROF_BPFTOOL} gen skeleton -L ${object} name ${name}_bpf > ${skeleton}
            DEPENDS ${program} ${headers} ${CMAKE_SOURCE_DIR}/arch/${SPROF_ARCH}/bpf.h
                    ${CMAKE_SOURCE_DIR}/agent/probe_window.h
            WORKING_DIRECTORY ${CMAKE_SOURCE_DIR}
            COMMENT "BPF programs ${library}/bpf/${name}"
            VERBATIM)
        list(APPEND skeletons ${skeleton})
    endforeach()
    target_sources(sprof_${library} PRIVATE ${skeletons})
    target_include_directories(sprof_${library} SYSTEM PRIVATE ${generated} ${SPROF_BPF_HEADERS})
    target_compile_definitions(sprof_${library} PRIVATE SPROF_BPF)
endfunction()
