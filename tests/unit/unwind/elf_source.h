/* An ELF file as a source of call frame information, for tests, fuzzing seeds and benchmarks. */
#ifndef SPROF_TESTS_UNWIND_ELF_SOURCE_H
#define SPROF_TESTS_UNWIND_ELF_SOURCE_H

#include "unwind/unwind.h"

#include <libelf.h>

enum { ELF_SOURCE_RANGES = 16 };

struct elf_source {
    int fd;
    Elf *elf;
    bool fixed; /* ET_EXEC: loaded where it says */
    struct unwind_source source;
    struct unwind_range text[ELF_SOURCE_RANGES];
    struct unwind_plt plt[ELF_SOURCE_RANGES];
};

/* Returns 0, or -1 where there is no such file or it is no ELF file for this machine. */
int elf_source_open(struct elf_source *file, const char *path);

/* The same of an image in memory, which must live as long as the source. */
int elf_source_memory(struct elf_source *file, char *bytes, size_t size);
void elf_source_close(struct elf_source *file);

/* The value of a symbol of .symtab or .dynsym, 0 where it is absent. */
uint64_t elf_source_symbol(const struct elf_source *file, const char *name);

/* Opens, builds, closes. NULL where any of it fails. */
struct unwind_table *elf_source_table(const char *path);

#endif
