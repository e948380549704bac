# The statements of docs/fleet that make tables, as C strings.
foreach(sql clickhouse clickhouse-18)
    set_property(DIRECTORY ${CMAKE_SOURCE_DIR} APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS
                 ${CMAKE_SOURCE_DIR}/docs/fleet/${sql}.sql)
    file(READ ${CMAKE_SOURCE_DIR}/docs/fleet/${sql}.sql text)
    string(REPLACE "\\" "\\\\" text "${text}")
    string(REPLACE "\"" "\\\"" text "${text}")
    string(REPLACE "\n" "\\n\"\n    \"" text "${text}")
    string(TOUPPER ${sql} name)
    string(REPLACE "-" "_" name ${name})
    set(${name}_SQL "\"${text}\"")
endforeach()
configure_file(${CMAKE_SOURCE_DIR}/fleet/sql.c.in ${CMAKE_BINARY_DIR}/generated/fleet_sql.c @ONLY)
target_sources(sprof_fleet PRIVATE ${CMAKE_BINARY_DIR}/generated/fleet_sql.c)

add_dependencies(sprof_fleet sprof_formats_headers)
