# A program extends that of the library below by a member without a name (docs/design/programs.md).
target_compile_options(sprof_calls PRIVATE -fms-extensions
                       $<$<C_COMPILER_ID:Clang>:-Wno-microsoft-anon-tag>)
