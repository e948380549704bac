/* An ELF file that gets one more loaded segment, and keeps all that it has where it is: but for
 * what stands behind the program headers, which moves into the new segment to make room for one
 * more. */
#ifndef SPROF_TRACE_EMBED_ELF_FILE_H
#define SPROF_TRACE_EMBED_ELF_FILE_H

#include "base/base.h"

#include <stdbool.h>
#include <sys/types.h>

struct elf_file {
    const char *path; /* for messages; borrowed */
    uint8_t *bytes;   /* the whole file, to be changed; owned */
    size_t size;
    mode_t mode;            /* its permissions */
    bool is_library;        /* no program */
    uint64_t vaddr, offset; /* of the new segment */
    /* What moves into its beginning: */
    uint64_t moved, moved_end; /* offsets in the file */
    uint64_t moved_vaddr;
    uint64_t moved_to; /* vaddr */
    uint64_t code;     /* vaddr that new code begins at */
};

/* Reads a program or library of this processor. SPROF_EUNSUPPORTED says what it lacks. The caller
 * releases. */
int elf_file_read(struct elf_file *file, const char *path, struct sprof_error *error);
void elf_file_release(struct elf_file *file);

/* The bytes of `size` at a vaddr, or NULL where the file has them not. */
uint8_t *elf_file_at(struct elf_file *file, uint64_t vaddr, uint64_t size);

/* Writes the file with the new segment: what moved, code from file->code on, and a list behind it;
 * each is a section of that name. `output` is replaced when all is written. */
int elf_file_write(struct elf_file *file, const char *output, const char *code_name,
                   struct sprof_bytes code, const char *list_name, struct sprof_bytes list,
                   struct sprof_error *error);

#endif
