# Runs before the binary is installed: glibc's libc-dev-bin owns another sprof, in /usr/bin, which must
# not be overwritten. Ours answers --version with its number.
set(there "$ENV{DESTDIR}${CMAKE_INSTALL_PREFIX}/bin/sprof")
if(EXISTS "${there}")
    execute_process(COMMAND "${there}" --version OUTPUT_VARIABLE version ERROR_QUIET)
    if(NOT version MATCHES "^sprof [0-9]")
        message(FATAL_ERROR "${there} is another program, as glibc's reader of LD_PROFILE files: "
                            "install elsewhere, as `cmake --install build/release --prefix /usr/local`")
    endif()
endif()
