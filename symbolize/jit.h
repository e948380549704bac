/* symbolize, inside: the two file formats of code compiled at run time. */
#ifndef SPROF_SYMBOLIZE_JIT_H
#define SPROF_SYMBOLIZE_JIT_H

#include "symbolize/jit_map.h"

/* Both read from the start of the descriptor. Return 0 or a negative code. */
int symbolize_jit_read_perf_map(struct symbolize_jit *jit, int fd, const char *path,
                                struct sprof_error *error);
int symbolize_jit_read_dump(struct symbolize_jit *jit, int fd, const char *path,
                            struct sprof_error *error);

/* First bytes of a jitdump file, as a little endian number, and of one of the other byte order. */
#define JIT_DUMP_MAGIC UINT32_C(0x4a695444)
#define JIT_DUMP_OTHER_MAGIC UINT32_C(0x4454694a)

#endif
