/* An ELF file that gets one more loaded segment, and keeps all that it has where it is: but for
 * what stands behind the program headers, which moves into the new segment to make room for one
 * more. */
#ifndef SPROF_EMBED_ELF_FILE_H
#define SPROF_EMBED_ELF_FILE_H

#include "base/base.h"

#include <stdbool.h>
#include <sys/types.h>

struct elf_file {
    const char *path; /* for messages; borrowed */
    uint8_t *bytes;   /* the whole file, to be changed; owned */
    size_t size;
    mode_t mode;            /* its permissions */
    bool is_library;        /* no program */
    bool has_shadow_stack;  /* a processor may check its returns */
    bool is_fixed;          /* it is loaded where it says */
    uint64_t vaddr, offset; /* of the new segment */
    /* What moves into its beginning: */
    uint64_t moved, moved_end; /* offsets in the file */
    uint64_t moved_vaddr;
    uint64_t moved_to; /* vaddr */
    uint64_t code;     /* vaddr that new code begins at */
};

/* Reads a program or library of this processor. SPROF_EUNSUPPORTED says what it lacks. The caller
 * releases. */
int embed_elf_read(struct elf_file *file, const char *path, struct sprof_error *error);
void embed_elf_release(struct elf_file *file);

/* The bytes of `size` at a vaddr, or NULL where the file has them not. */
uint8_t *embed_elf_at(struct elf_file *file, uint64_t vaddr, uint64_t size);

/* A section of the file; its vaddr in *vaddr. Empty where it has none. */
struct sprof_bytes embed_elf_section(const struct elf_file *file, const char *name,
                                     uint64_t *vaddr);

/* Entries of the PLT, with their bytes, that lead to functions of names that `wants` accepts; those
 * of the file as it was read. Ends with what `found` returns where that is not 0. */
int embed_each_imported(const struct elf_file *file, bool (*wants)(const char *name),
                        int (*found)(void *context, uint64_t start, struct sprof_bytes code),
                        void *context);

/* A section of the new segment. */
struct elf_section {
    const char *name;
    const char *former; /* the new name of the file's own section of this name; NULL: it has none */
    struct sprof_bytes bytes; /* borrowed */
    uint64_t vaddr;           /* set by embed_elf_place */
    bool is_code;
};

/* Gives sections addresses, one behind the other, from file->code on: each is aligned to 64 bytes.
 * Sections without bytes take no room. */
void embed_elf_place(const struct elf_file *file, struct elf_section *sections, size_t count);

/* Writes the file with the new segment: what moved, and the sections that have bytes, where they
 * were placed. `output` is replaced when all is written. */
int embed_elf_write(struct elf_file *file, const char *output, const struct elf_section *sections,
                    size_t count, struct sprof_error *error);

#endif
