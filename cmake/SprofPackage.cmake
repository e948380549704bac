# A Debian package by `cpack -G DEB`, for /usr. Its maintainer scripts divert glibc's program of the same name.
set(SPROF_PACKAGE_CONTACT "the sprof authors <sprof@sprof.invalid>" CACHE STRING "Maintainer of packages, as NAME <ADDRESS>")
set(CPACK_PACKAGE_CONTACT "${SPROF_PACKAGE_CONTACT}")
set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME sprof)
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "sampling and tracing profiler of native programs")
set(CPACK_PACKAGE_DESCRIPTION
"sprof finds where programs spend their time, and who called the code. It
samples by perf events or an agent, unwinds whole stacks while it samples,
counts and times calls by probes, and writes one SQLite file that reports,
a browser page and other tools read.")
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION devel)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
# Libraries that are opened when something needs them.
set(CPACK_DEBIAN_PACKAGE_RECOMMENDS "libcapstone4 | libcapstone5, libarchive13 | libarchive13t64, libcurl4 | libcurl4t64 | libcurl3-gnutls")
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)
set(CPACK_DEBIAN_PACKAGE_CONTROL_EXTRA ${CMAKE_SOURCE_DIR}/packaging/debian/preinst
                                       ${CMAKE_SOURCE_DIR}/packaging/debian/postrm)
set(CPACK_SPROF_LINTIAN_OVERRIDES ${CMAKE_SOURCE_DIR}/packaging/debian/lintian-overrides)
set(CPACK_PRE_BUILD_SCRIPTS ${CMAKE_SOURCE_DIR}/cmake/SprofDebianFiles.cmake)
include(CPack)
