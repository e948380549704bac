# What shells need to complete sprof's command lines: the binary prints it whenever it was linked.
set(completions ${CMAKE_BINARY_DIR}/completions)
add_custom_command(TARGET sprof POST_BUILD
    COMMAND ${CMAKE_COMMAND} -E make_directory ${completions}
    COMMAND sprof completion bash > ${completions}/sprof
    COMMAND sprof completion zsh > ${completions}/_sprof
    COMMAND sprof completion fish > ${completions}/sprof.fish
    VERBATIM)
install(FILES ${completions}/sprof DESTINATION ${CMAKE_INSTALL_DATAROOTDIR}/bash-completion/completions)
install(FILES ${completions}/_sprof DESTINATION ${CMAKE_INSTALL_DATAROOTDIR}/zsh/vendor-completions)
install(FILES ${completions}/sprof.fish DESTINATION ${CMAKE_INSTALL_DATAROOTDIR}/fish/vendor_completions.d)
