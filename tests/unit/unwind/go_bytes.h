/* A .gopclntab of two functions, written by hand in any of its formats. */
#ifndef SPROF_TESTS_UNWIND_GO_BYTES_H
#define SPROF_TESTS_UNWIND_GO_BYTES_H

#include <stddef.h>
#include <stdint.h>

enum { GO_BYTES_MAX = 1024, GO_FORMATS = 4, GO_TEXT = 0x1000 };

/* main.work at GO_TEXT: depth 0 for 4 bytes, 24 for 20, 0 for 8; runtime.goexit behind it, 16
 * bytes. `format`: 0 to 3 for Go 1.2, 1.16, 1.18, 1.20. Returns the size. */
size_t go_bytes_write(uint8_t bytes[GO_BYTES_MAX], unsigned format);

/* Gives the first function (0) or the second (1) another name, of at most 31 bytes; not Go 1.2. */
void go_bytes_rename(uint8_t bytes[GO_BYTES_MAX], unsigned format, unsigned function,
                     const char *name);

/* Takes main.work's table of depths away, as Go's linker leaves functions of C; not Go 1.2. */
void go_bytes_drop_depths(uint8_t bytes[GO_BYTES_MAX], unsigned format);

/* Sets the flags of main.work; only Go 1.18 and 1.20 have them. */
void go_bytes_set_flags(uint8_t bytes[GO_BYTES_MAX], unsigned format, uint8_t flags);

#endif
