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

# The empty recording, made by a program that is the library without it.
add_executable(store_empty ${CMAKE_SOURCE_DIR}/store/empty/main.c)
sprof_options(store_empty)
target_link_libraries(store_empty PRIVATE $<TARGET_FILE:sprof_store> sprof_model sprof_base system_sqlite3)
add_dependencies(store_empty sprof_store)
add_custom_command(OUTPUT ${CMAKE_BINARY_DIR}/generated/store_empty.c
    COMMAND store_empty ${CMAKE_BINARY_DIR}/generated/store_empty.c
    DEPENDS store_empty)
add_library(sprof_store_empty STATIC ${CMAKE_BINARY_DIR}/generated/store_empty.c)
sprof_options(sprof_store_empty)
target_link_libraries(sprof_store INTERFACE sprof_store_empty)
