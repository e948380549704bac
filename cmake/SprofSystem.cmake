# What of the system decides what is built. Each answer can be given beforehand: -DSPROF_HAS_CUNIT=OFF.
include(SprofLookFor)

# nongnu libunwind follows rules that need all registers. LLVM's library of the same name has the same
# headers and none of these functions, so it is linking that tells.
sprof_look_for(SPROF_HAS_LIBUNWIND "
    #include <libunwind.h>
    int UNW_OBJ(dwarf_search_unwind_table)(unw_addr_space_t, unw_word_t, unw_dyn_info_t *,
                                           unw_proc_info_t *, int, void *);
    int main(void)
    {
        unw_accessors_t accessors = {0};
        unw_addr_space_t space = unw_create_addr_space(&accessors, 0);
        return UNW_OBJ(dwarf_search_unwind_table)(space, 0, 0, 0, 0, 0);
    }" unwind-${SPROF_ARCH})
sprof_look_for(SPROF_HAS_CUNIT "
    #include <CUnit/CUnit.h>
    int main(void) { return (int)CU_initialize_registry(); }" cunit)

# SQLite 3.37 has STRICT tables. Where the system's is older, its sources (sqlite3.c and sqlite3.h, the amalgamation) can
# be compiled in.
set(SPROF_SQLITE "" CACHE PATH "A directory with SQLite's sources in one file, instead of the system's library")
if(SPROF_SQLITE)
    add_library(sprof_sqlite3 STATIC ${SPROF_SQLITE}/sqlite3.c)
    target_compile_options(sprof_sqlite3 PRIVATE -O2 -w)
    target_include_directories(sprof_sqlite3 SYSTEM PUBLIC ${SPROF_SQLITE})
    target_link_libraries(sprof_sqlite3 PUBLIC Threads::Threads ${CMAKE_DL_LIBS} m)
else()
    sprof_look_for(SPROF_HAS_SQLITE "
        #include <sqlite3.h>
        #if SQLITE_VERSION_NUMBER < 3037000
        #error too old
        #endif
        int main(void) { return sqlite3_libversion_number() < 3037000; }" sqlite3)
    if(NOT SPROF_HAS_SQLITE)
        message(FATAL_ERROR "sprof needs SQLite 3.37 or later (Debian: libsqlite3-dev, of Debian 12 or later). "
                            "-DSPROF_SQLITE=DIRECTORY takes sqlite3.c and sqlite3.h, SQLite's "
                            "amalgamation, from there.")
    endif()
endif()

# The system libraries of the table cmake/layers. A program with the property SPROF_ARCHIVES has them inside,
# where all are there as archives that fit: the loader takes a millisecond to find and join a dozen files,
# which everybody waits for who records a short command. The tests have not, since they put something
# between sprof's own allocations and the C library's.
option(SPROF_STATIC "Put the libraries that sprof uses into it, where archives of them are found" ON)
set(SPROF_SYSTEM_LIBRARIES xxhash elf dw sqlite3 pcre2-8 z protobuf-c yajl)
set(SPROF_ARCHIVE_OF_yajl libyajl_s.a)
set(SPROF_ARCHIVES "")
foreach(library ${SPROF_SYSTEM_LIBRARIES} lzma bz2)
    if(NOT SPROF_ARCHIVE_OF_${library})
        set(SPROF_ARCHIVE_OF_${library} lib${library}.a)
    endif()
    find_library(SPROF_ARCHIVE_${library} ${SPROF_ARCHIVE_OF_${library}})
    mark_as_advanced(SPROF_ARCHIVE_${library})
    list(APPEND SPROF_ARCHIVES ${SPROF_ARCHIVE_${library}})
endforeach()
set(SPROF_NEEDED_BY_dw ${SPROF_ARCHIVE_elf} ${SPROF_ARCHIVE_z} ${SPROF_ARCHIVE_lzma} ${SPROF_ARCHIVE_bz2})
set(SPROF_NEEDED_BY_elf ${SPROF_ARCHIVE_z})
set(SPROF_NEEDED_BY_sqlite3 m ${CMAKE_DL_LIBS})

if(NOT SPROF_STATIC OR SPROF_SANITIZE)
    set(SPROF_HAS_ARCHIVES OFF)
elseif(SPROF_ARCHIVES MATCHES NOTFOUND)
    set(SPROF_HAS_ARCHIVES OFF)
    message(STATUS "sprof: linked with shared libraries: there are not archives of all")
else()
    sprof_look_for(SPROF_HAS_ARCHIVES "
        #include <elfutils/libdw.h>
        #include <libelf.h>
        #include <sqlite3.h>
        int main(void)
        {
            return sqlite3_libversion_number() + (int)elf_version(EV_CURRENT) +
                   (dwarf_begin(0, DWARF_C_READ) != 0);
        }" ${SPROF_ARCHIVE_dw} ${SPROF_NEEDED_BY_dw} ${SPROF_ARCHIVES} ${SPROF_NEEDED_BY_sqlite3})
    if(NOT SPROF_HAS_ARCHIVES)
        message(STATUS "sprof: linked with shared libraries: the archives of this system do not link")
    endif()
endif()

# system_NAME for each: the archive and what it needs, or the shared library.
foreach(library ${SPROF_SYSTEM_LIBRARIES})
    add_library(system_${library} INTERFACE)
    if(SPROF_SQLITE AND library STREQUAL "sqlite3")
        target_link_libraries(system_sqlite3 INTERFACE sprof_sqlite3)
    elseif(SPROF_HAS_ARCHIVES)
        set(inside $<BOOL:$<TARGET_PROPERTY:SPROF_ARCHIVES>>)
        target_link_libraries(system_${library} INTERFACE
            "$<${inside}:${SPROF_ARCHIVE_${library}}>" "$<$<NOT:${inside}>:${library}>")
        foreach(needed ${SPROF_NEEDED_BY_${library}})
            target_link_libraries(system_${library} INTERFACE "$<${inside}:${needed}>")
        endforeach()
    else()
        target_link_libraries(system_${library} INTERFACE ${library})
    endif()
endforeach()

# ncurses for wide characters, which the screen of `sprof top` needs and nothing else.
add_library(system_ncurses INTERFACE)
sprof_look_for(SPROF_HAS_NCURSES "
    #define NCURSES_WIDECHAR 1
    #include <curses.h>
    #include <term.h>
    int main(void)
    {
        wint_t key;
        return get_wch(&key) + setupterm(0, 1, 0);
    }" ncursesw tinfo)
if(SPROF_HAS_NCURSES)
    set(archives "")
    foreach(library ncursesw tinfo)
        find_library(SPROF_ARCHIVE_${library} lib${library}.a)
        mark_as_advanced(SPROF_ARCHIVE_${library})
        list(APPEND archives ${SPROF_ARCHIVE_${library}})
    endforeach()
    if(SPROF_HAS_ARCHIVES AND NOT archives MATCHES NOTFOUND)
        target_link_libraries(system_ncurses INTERFACE "$<$<BOOL:$<TARGET_PROPERTY:SPROF_ARCHIVES>>:${archives}>"
            "$<$<NOT:$<BOOL:$<TARGET_PROPERTY:SPROF_ARCHIVES>>>:ncursesw;tinfo>")
    else()
        target_link_libraries(system_ncurses INTERFACE ncursesw tinfo)
    endif()
else()
    message(STATUS "sprof: without ncurses (Debian: libncurses-dev): `sprof top` says so and ends")
endif()

# libunwind: nothing where there is none. (Its archive is not made for programs at random addresses.)
add_library(nongnu_libunwind INTERFACE)
if(SPROF_HAS_LIBUNWIND)
    target_link_libraries(nongnu_libunwind INTERFACE unwind-${SPROF_ARCH})
else()
    message(STATUS "sprof: without nongnu libunwind (Debian: libunwind-dev): stacks end as no-cfi "
                   "where a rule needs it")
endif()
