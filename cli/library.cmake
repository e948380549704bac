target_compile_definitions(sprof_cli PRIVATE SPROF_HAS_NCURSES=$<BOOL:${SPROF_HAS_NCURSES}>)

# The guide and the page on the database, as C strings.
foreach(page guide schema)
    set_property(DIRECTORY ${CMAKE_SOURCE_DIR} APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/docs/${page}.md)
    file(READ ${CMAKE_SOURCE_DIR}/docs/${page}.md text)
    string(REPLACE "\\" "\\\\" text "${text}")
    string(REPLACE "\"" "\\\"" text "${text}")
    string(REPLACE "\n" "\\n\"\n    \"" text "${text}")
    string(TOUPPER ${page}_TEXT name)
    set(${name} "\"${text}\"")
endforeach()
configure_file(${CMAKE_SOURCE_DIR}/cli/documents.c.in ${CMAKE_BINARY_DIR}/generated/cli_documents.c @ONLY)
target_sources(sprof_cli PRIVATE ${CMAKE_BINARY_DIR}/generated/cli_documents.c)
