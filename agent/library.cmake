# The part that is preloaded into programs: a shared library without sanitizers (it must load into any
# program), without anything that needs set-up before it runs, and with all its symbols bound at once
# (the handler must never enter the loader).
file(GLOB preload_sources CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/agent/preload/*.c)
add_library(sprof-agent SHARED ${preload_sources} ${CMAKE_SOURCE_DIR}/agent/file_check.c
            ${CMAKE_SOURCE_DIR}/agent/loader.c)
sprof_language(sprof-agent)
set_target_properties(sprof-agent PROPERTIES LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/libexec/sprof)
set(SPROF_PRELOAD_DEFINITIONS _GNU_SOURCE SPROF_ARCH_HEADER="${SPROF_ARCH_HEADER}"
    SPROF_ARCH_CONTEXT_HEADER="arch/${SPROF_ARCH}/context.h" CACHE INTERNAL "of what runs inside other programs")
target_compile_definitions(sprof-agent PRIVATE ${SPROF_PRELOAD_DEFINITIONS})
target_include_directories(sprof-agent PRIVATE ${CMAKE_SOURCE_DIR})
target_compile_options(sprof-agent PRIVATE -O2 -g -Wall -Wextra -Wconversion -Wshadow
                       -Wmissing-prototypes -Wvla $<$<BOOL:${SPROF_WERROR}>:-Werror>
                       -U_FORTIFY_SOURCE -fno-stack-protector -fno-builtin-malloc)
target_link_libraries(sprof-agent PRIVATE ${CMAKE_DL_LIBS})   # dlsym, before glibc 2.34
target_link_options(sprof-agent PRIVATE -Wl,-z,now -Wl,-z,defs -Wl,-z,nodelete)
install(TARGETS sprof-agent LIBRARY DESTINATION libexec/sprof)

# The tracing agent: thunks write their calls into it. It runs inside functions of the program that has
# it, so it uses general registers only, no libc, and is started before everything else.
file(GLOB probe_sources CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/agent/probe/*.c
     ${CMAKE_SOURCE_DIR}/arch/${SPROF_ARCH}/probe/*.S)
list(FILTER probe_sources EXCLUDE REGEX frames_end)

# sprof_probe_options(target definitions…)
function(sprof_probe_options target)
    sprof_language(${target})
    target_include_directories(${target} PRIVATE ${CMAKE_SOURCE_DIR})
    target_compile_definitions(${target} PRIVATE SPROF_ARCH_HEADER="${SPROF_ARCH_HEADER}" ${ARGN})
    target_compile_options(${target} PRIVATE $<$<COMPILE_LANGUAGE:C>:
                           -O2 -g -Wall -Wextra -Wconversion -Wshadow -Wmissing-prototypes -Wvla
                           $<$<BOOL:${SPROF_WERROR}>:-Werror> -mgeneral-regs-only -ffreestanding
                           $<$<C_COMPILER_ID:GNU>:-fno-tree-loop-distribute-patterns> -U_FORTIFY_SOURCE
                           -fno-stack-protector -fcf-protection=none -fno-sanitize=all
                           -fno-omit-frame-pointer>)
endfunction()

# sprof_probe(target DEFINITIONS … SOURCES …): one build of it, these sources last.
function(sprof_probe target)
    cmake_parse_arguments(PARSE_ARGV 1 probe "" "" "DEFINITIONS;SOURCES")
    add_library(${target} SHARED ${probe_sources} ${probe_SOURCES})
    sprof_probe_options(${target} ${probe_DEFINITIONS})
    set_target_properties(${target} PROPERTIES LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/libexec/sprof)
    target_link_options(${target} PRIVATE -nostdlib -Wl,-z,now -Wl,-z,initfirst -fno-sanitize=all)
    install(TARGETS ${target} LIBRARY DESTINATION libexec/sprof)
endfunction()
sprof_probe(sprof-probe)

# For processes into which no loader puts it: without thread-local storage (table.h), and with an end
# of its .eh_frame, which must be the last that is linked.
sprof_probe(sprof-probe-mapped DEFINITIONS PROBE_MAPPED
            SOURCES ${CMAKE_SOURCE_DIR}/arch/${SPROF_ARCH}/probe/frames_end.S)
