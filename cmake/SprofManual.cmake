# The manual pages: a page for each file of docs/man, made from its text and the command's options.
add_executable(sprof_manual docs/man/manual.c)
target_link_libraries(sprof_manual PRIVATE sprof_cli sprof_base)
sprof_options(sprof_manual)

file(GLOB manual_texts CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/docs/man/*.1)
set(manual_pages "")
foreach(text ${manual_texts})
    get_filename_component(name ${text} NAME)
    if(NOT name STREQUAL sprof.1)
        string(PREPEND name sprof-)
    endif()
    set(page ${CMAKE_BINARY_DIR}/man/${name})
    add_custom_command(OUTPUT ${page}
        COMMAND ${CMAKE_COMMAND} -E make_directory ${CMAKE_BINARY_DIR}/man
        COMMAND sprof_manual ${PROJECT_VERSION} ${text} > ${page}
        DEPENDS sprof_manual ${text})
    list(APPEND manual_pages ${page})
endforeach()
add_custom_target(sprof_manual_pages ALL DEPENDS ${manual_pages})
install(FILES ${manual_pages} DESTINATION ${CMAKE_INSTALL_MANDIR}/man1)
