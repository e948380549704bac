# The SQL of the views and of migrations, as C strings.
foreach(sql views migrate_1)
    set_property(DIRECTORY ${CMAKE_SOURCE_DIR} APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS
                 ${CMAKE_SOURCE_DIR}/store/${sql}.sql)
    file(READ ${CMAKE_SOURCE_DIR}/store/${sql}.sql text)
    string(REPLACE "\\" "\\\\" text "${text}")
    string(REPLACE "\"" "\\\"" text "${text}")
    string(REPLACE "\n" "\\n\"\n    \"" text "${text}")
    string(TOUPPER ${sql} SQL_NAME)
    set(${SQL_NAME}_SQL "\"${text}\"")
endforeach()
configure_file(${CMAKE_SOURCE_DIR}/store/sql.c.in ${CMAKE_BINARY_DIR}/generated/store_sql.c @ONLY)
target_sources(sprof_store PRIVATE ${CMAKE_BINARY_DIR}/generated/store_sql.c)
