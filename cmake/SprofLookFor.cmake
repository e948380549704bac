# sprof_look_for(variable source library …): whether the C program compiles and links. What was absent may have
# been installed since, so it is looked for again; an answer that was given beforehand stays.
include(CheckCSourceCompiles)

function(sprof_look_for variable source)
    get_property(type CACHE ${variable} PROPERTY TYPE)
    if(type STREQUAL INTERNAL AND NOT ${variable})
        unset(${variable} CACHE)
    endif()
    set(CMAKE_REQUIRED_LIBRARIES ${ARGN})
    check_c_source_compiles("${source}" ${variable})
endfunction()
