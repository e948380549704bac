target_compile_definitions(sprof_cli PRIVATE SPROF_HAS_NCURSES=$<BOOL:${SPROF_HAS_NCURSES}>)

# The queries of docs/schema.md, as a C string.
set_property(DIRECTORY ${CMAKE_SOURCE_DIR} APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/docs/schema.md)
file(READ ${CMAKE_SOURCE_DIR}/docs/schema.md text)
string(FIND "${text}" "\n## Twenty queries" begin)
string(SUBSTRING "${text}" ${begin} -1 text)
string(REPLACE "\\" "\\\\" text "${text}")
string(REPLACE "\"" "\\\"" text "${text}")
string(REPLACE "\n" "\\n\"\n    \"" text "${text}")
set(RECIPES_TEXT "\"${text}\"")
configure_file(${CMAKE_SOURCE_DIR}/cli/recipes_text.c.in ${CMAKE_BINARY_DIR}/generated/cli_recipes_text.c @ONLY)
target_sources(sprof_cli PRIVATE ${CMAKE_BINARY_DIR}/generated/cli_recipes_text.c)
