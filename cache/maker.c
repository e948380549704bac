/* Distinguishes builds of the running program. */
#include "cache/maker.h"

#include "base/base.h"

#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static size_t aligned(size_t size)
{
    return (size + 3) & ~(size_t)3;
}

/* Notes of the program itself, which the linker wrote and the loader mapped. */
static uint64_t hash_of_notes(const uint8_t *notes, size_t size)
{
    Elf64_Nhdr note;
    while (size >= sizeof note) {
        memcpy(&note, notes, sizeof note);
        const size_t name = aligned(note.n_namesz), content = aligned(note.n_descsz);
        if (name > size - sizeof note || content > size - sizeof note - name)
            return 0;
        const uint8_t *text = notes + sizeof note;
        if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == sizeof "GNU" &&
            !memcmp(text, "GNU", sizeof "GNU") && note.n_descsz)
            return sprof_hash_bytes(text + name, note.n_descsz);
        notes += sizeof note + name + content;
        size -= sizeof note + name + content;
    }
    return 0;
}

/* The first object is the program. */
static int read_program(struct dl_phdr_info *info, size_t size, void *context)
{
    uint64_t *maker = context;
    (void)size;
    for (size_t i = 0; i < info->dlpi_phnum && !*maker; i++)
        if (info->dlpi_phdr[i].p_type == PT_NOTE)
            *maker = hash_of_notes((const uint8_t *)(info->dlpi_addr + info->dlpi_phdr[i].p_vaddr),
                                   info->dlpi_phdr[i].p_memsz);
    return 1;
}

static uint64_t hash_of_file(void)
{
    enum { PIECE = 1 << 16 };
    const int file = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
    uint8_t *piece = file < 0 ? NULL : malloc(PIECE);
    uint64_t maker = 0, offset = 0;
    size_t size;
    while (piece && (size = sprof_file_read(file, offset, piece, PIECE)) > 0) {
        maker = sprof_hash_pair(maker, sprof_hash_bytes(piece, size));
        offset += size;
    }
    free(piece);
    if (file >= 0)
        close(file);
    return maker;
}

uint64_t cache_maker(void)
{
    uint64_t maker = 0;
    dl_iterate_phdr(read_program, &maker);
    return maker ? maker : hash_of_file();
}
