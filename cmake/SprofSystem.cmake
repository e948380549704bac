# What of the system decides what is built. Each answer can be given beforehand: -DSPROF_HAS_CUNIT=OFF.
include(CheckCSourceCompiles)

# nongnu libunwind follows rules that need all registers. LLVM's library of the same name has the same
# headers and none of these functions, so it is linking that tells.
set(CMAKE_REQUIRED_LIBRARIES unwind-${SPROF_ARCH})
check_c_source_compiles("
    #include <libunwind.h>
    int UNW_OBJ(dwarf_search_unwind_table)(unw_addr_space_t, unw_word_t, unw_dyn_info_t *,
                                           unw_proc_info_t *, int, void *);
    int main(void)
    {
        unw_accessors_t accessors = {0};
        unw_addr_space_t space = unw_create_addr_space(&accessors, 0);
        return UNW_OBJ(dwarf_search_unwind_table)(space, 0, 0, 0, 0, 0);
    }" SPROF_HAS_LIBUNWIND)
set(CMAKE_REQUIRED_LIBRARIES cunit)
check_c_source_compiles("
    #include <CUnit/CUnit.h>
    int main(void) { return (int)CU_initialize_registry(); }" SPROF_HAS_CUNIT)
unset(CMAKE_REQUIRED_LIBRARIES)

# libunwind for the table cmake/layers: nothing where there is none.
add_library(nongnu_libunwind INTERFACE)
if(SPROF_HAS_LIBUNWIND)
    target_link_libraries(nongnu_libunwind INTERFACE unwind-${SPROF_ARCH})
else()
    message(STATUS "sprof: without nongnu libunwind (Debian: libunwind-dev): stacks end as no-cfi "
                   "where a rule needs it")
endif()
