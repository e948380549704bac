# The page: its frame, style and scripts as C arrays.
set(page_source ${CMAKE_SOURCE_DIR}/report/html)
set(page_parts ${CMAKE_BINARY_DIR}/generated/report_html_parts.c)
file(GLOB page_files CONFIGURE_DEPENDS ${page_source}/*.js ${page_source}/*.css ${page_source}/*.html)
add_custom_command(OUTPUT ${page_parts}
    COMMAND ${CMAKE_COMMAND} -DOUT=${page_parts} -DDIRECTORY=${page_source} -P ${page_source}/embed.cmake
    DEPENDS ${page_files} ${page_source}/embed.cmake)
target_sources(sprof_report PRIVATE ${page_parts})

add_dependencies(sprof_report sprof_formats_headers)
