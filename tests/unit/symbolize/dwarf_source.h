/* Hand-written DWARF 4, for what no compiler writes. */
#ifndef SPROF_TESTS_UNIT_SYMBOLIZE_DWARF_SOURCE_H
#define SPROF_TESTS_UNIT_SYMBOLIZE_DWARF_SOURCE_H

/* Code of 64 bytes at `code`, and abbreviations: 1 unit, 2 function with an abstract origin, 3
 * block, 4 function with a name, 5 inlined call with an abstract origin. Entries follow at `unit`.
 */
#define DWARF_SOURCE_HEAD                                                                          \
    "    .text\n"                                                                                  \
    "    .globl _start\n"                                                                          \
    "_start:\n"                                                                                    \
    "code:\n"                                                                                      \
    "    .skip 64, 0x90\n"                                                                         \
    "    .section .debug_abbrev, \"\", @progbits\n"                                                \
    "    .byte 1, 0x11, 1, 0x11, 1, 0x12, 7, 0, 0\n"                                               \
    "    .byte 2, 0x2e, 1, 0x11, 1, 0x12, 7, 0x31, 0x13, 0, 0\n"                                   \
    "    .byte 3, 0x0b, 1, 0, 0\n"                                                                 \
    "    .byte 4, 0x2e, 1, 0x03, 8, 0x11, 1, 0x12, 7, 0, 0\n"                                      \
    "    .byte 5, 0x1d, 1, 0x11, 1, 0x12, 7, 0x31, 0x13, 0, 0\n"                                   \
    "    .byte 0\n"                                                                                \
    "    .section .debug_info, \"\", @progbits\n"                                                  \
    "unit:\n"                                                                                      \
    "    .long unit_end - unit_start\n"                                                            \
    "unit_start:\n"                                                                                \
    "    .short 4\n"                                                                               \
    "    .long 0\n"                                                                                \
    "    .byte 8\n"                                                                                \
    "    .byte 1\n"                                                                                \
    "    .quad code, 64\n"

#define DWARF_SOURCE_TAIL                                                                          \
    "    .byte 0\n"                                                                                \
    "unit_end:\n"

#endif
