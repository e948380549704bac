# One static library per directory, and the options every target shares.
find_package(Threads REQUIRED)

option(SPROF_WERROR "Treat warnings as errors" OFF)
option(SPROF_FUZZ "Build the libFuzzer targets (clang only)" OFF)
set(SPROF_SANITIZE "" CACHE STRING "Sanitizers, comma separated: address,undefined or thread")

# arch/ has a directory for each processor; one is built.
set(SPROF_ARCH ${CMAKE_SYSTEM_PROCESSOR})
if(NOT EXISTS ${CMAKE_SOURCE_DIR}/arch/${SPROF_ARCH}/machine.h)
    message(FATAL_ERROR "sprof does not know the processor ${SPROF_ARCH}: there is no arch/${SPROF_ARCH}")
endif()

set(SPROF_ARCH_HEADER arch/${SPROF_ARCH}/machine.h)
# sprof_language(target): C17 with GNU extensions, hidden names. (CMake before 3.21 has no name for C17.)
function(sprof_language target)
    set_target_properties(${target} PROPERTIES C_VISIBILITY_PRESET hidden)
    if(CMAKE_VERSION VERSION_LESS 3.21)
        target_compile_options(${target} PRIVATE $<$<COMPILE_LANGUAGE:C>:-std=gnu17>)
    else()
        set_target_properties(${target} PROPERTIES C_STANDARD 17 C_EXTENSIONS ON)
    endif()
endfunction()

function(sprof_options target)
    sprof_language(${target})
    target_compile_definitions(${target} PRIVATE _GNU_SOURCE
                               SPROF_ARCH_HEADER="${SPROF_ARCH_HEADER}")
    target_compile_options(${target} PRIVATE -Wall -Wextra -Wconversion -Wshadow
                           -Wmissing-prototypes -Wvla $<$<BOOL:${SPROF_WERROR}>:-Werror>)
    if(CMAKE_C_COMPILER_ID STREQUAL "GNU" AND CMAKE_C_COMPILER_VERSION VERSION_LESS 11)
        # It warns of arithmetic in ?: and of designated initializers, where later ones see that nothing is lost.
        target_compile_options(${target} PRIVATE -Wno-conversion -Wno-sign-conversion -Wno-missing-field-initializers)
    endif()
    target_include_directories(${target} PRIVATE ${CMAKE_SOURCE_DIR} ${CMAKE_BINARY_DIR}/generated)
    target_link_libraries(${target} PRIVATE Threads::Threads)
    if(SPROF_SANITIZE)
        target_compile_options(${target} PRIVATE -fsanitize=${SPROF_SANITIZE}
                               -fno-sanitize-recover=all -fno-omit-frame-pointer)
        target_link_options(${target} PRIVATE -fsanitize=${SPROF_SANITIZE})
    else()
        target_compile_options(${target} PRIVATE $<$<COMPILE_LANGUAGE:C>:-fstack-protector-strong -fPIE
                               $<$<NOT:$<CONFIG:Debug>>:-U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=2>
                               $<$<STREQUAL:${SPROF_ARCH},x86_64>:-fcf-protection>>)
        target_link_options(${target} PRIVATE -pie -Wl,-z,relro -Wl,-z,now)
    endif()
    if(SPROF_FUZZ)
        target_compile_options(${target} PRIVATE -fsanitize=fuzzer-no-link)
        target_link_options(${target} PRIVATE -fsanitize=fuzzer-no-link)
    endif()
endfunction()

include(SprofBpf)

# sprof_library(name "uses…" "system libraries…"): every *.c below name/ becomes sprof_name, except a
# main.c, which belongs to the executable of the same name, BPF programs, which SprofBpf
# compiles, and preload/ and probe/, which run in other programs.
function(sprof_library name uses libraries)
    file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/${name}/*.c)
    list(FILTER sources EXCLUDE REGEX "(/main|\\.bpf)\\.c$|/(preload|probe)/")
    if(name STREQUAL arch)
        list(FILTER sources INCLUDE REGEX "/arch/${SPROF_ARCH}/")
    endif()
    add_library(sprof_${name} STATIC ${sources})
    sprof_options(sprof_${name})
    list(TRANSFORM uses PREPEND sprof_)
    target_link_libraries(sprof_${name} PRIVATE ${uses} ${libraries})
    set_property(GLOBAL APPEND PROPERTY SPROF_LIBRARIES ${name})
    sprof_bpf(${name})
    if(EXISTS ${CMAKE_SOURCE_DIR}/${name}/library.cmake)
        include(${CMAKE_SOURCE_DIR}/${name}/library.cmake)   # generated sources
    endif()
endfunction()

# sprof_libraries(file): a library for each line "name | uses | system libraries" of a table.
function(sprof_libraries table)
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${table})
    file(STRINGS ${table} lines REGEX "^[a-z]")
    foreach(line ${lines})
        string(REPLACE "|" ";" cells "${line}")
        list(GET cells 0 name)
        list(GET cells 1 uses)
        list(GET cells 2 libraries)
        string(STRIP "${name}" name)
        separate_arguments(uses UNIX_COMMAND "${uses}")
        separate_arguments(libraries UNIX_COMMAND "${libraries}")
        foreach(library ${SPROF_SYSTEM_LIBRARIES} ncurses)
            list(TRANSFORM libraries REPLACE "^${library}$" "system_${library}")
        endforeach()
        sprof_library(${name} "${uses}" "${libraries}")
    endforeach()
endfunction()
