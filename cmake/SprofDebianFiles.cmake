# Runs when a package's files are installed, before they are packed: what Debian's policy asks of documents. Manual pages and
# the changelog are compressed, without times, and the licence is the file `copyright`.
set(share ${CPACK_TEMPORARY_INSTALL_DIRECTORY}/usr/share)
set(documents ${share}/doc/sprof)
file(RENAME ${documents}/LICENSE ${documents}/copyright)
configure_file(${CPACK_SPROF_LINTIAN_OVERRIDES} ${share}/lintian/overrides/sprof COPYONLY)
string(TIMESTAMP now "%a, %d %b %Y %H:%M:%S +0000" UTC)
file(WRITE ${documents}/changelog
"sprof (${CPACK_PACKAGE_VERSION}) unstable; urgency=medium

  * Built from the sources of version ${CPACK_PACKAGE_VERSION}.

 -- ${CPACK_PACKAGE_CONTACT}  ${now}
")
file(GLOB pages ${share}/man/man1/*.1 ${share}/man/man7/*.7)
execute_process(COMMAND gzip -9 -n -f ${pages} ${documents}/changelog RESULT_VARIABLE failed)
if(failed)
    message(FATAL_ERROR "gzip: ${failed}")
endif()
