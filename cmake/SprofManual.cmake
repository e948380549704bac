# The manual pages: a page for each file of docs/man, made from its text and the command's options, and the guide and the
# page on the database.
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
set(manual_documents "")
foreach(name guide schema)
    set(page ${CMAKE_BINARY_DIR}/man/sprof-${name}.7)
    add_custom_command(OUTPUT ${page}
        COMMAND ${CMAKE_COMMAND} -E make_directory ${CMAKE_BINARY_DIR}/man
        COMMAND sprof_manual ${PROJECT_VERSION} ${CMAKE_SOURCE_DIR}/docs/${name}.md > ${page}
        DEPENDS sprof_manual ${CMAKE_SOURCE_DIR}/docs/${name}.md)
    list(APPEND manual_documents ${page})
endforeach()
add_custom_target(sprof_manual_pages ALL DEPENDS ${manual_pages} ${manual_documents})
install(FILES ${manual_documents} DESTINATION ${CMAKE_INSTALL_MANDIR}/man7)
install(FILES ${manual_pages} DESTINATION ${CMAKE_INSTALL_MANDIR}/man1)
