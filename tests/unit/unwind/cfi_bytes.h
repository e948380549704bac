/* Call frame information written by hand, for tests and for the seeds of fuzzing. */
#ifndef SPROF_TESTS_UNWIND_CFI_BYTES_H
#define SPROF_TESTS_UNWIND_CFI_BYTES_H

#include "base/base.h"

#include <stdbool.h>

enum { CFI_BYTES_MAX = 4096 };

/* A section being written. Zero is a valid empty .eh_frame. */
struct cfi_bytes {
    uint8_t data[CFI_BYTES_MAX];
    size_t size;
    size_t cie; /* offset of the CIE that new FDEs belong to */
    bool debug_frame;
    bool wide;             /* DWARF64 */
    uint8_t version;       /* of CIEs; 0 = 1 */
    uint8_t return_column; /* 0 = 16, that of x86-64 */
};

void cfi_bytes_put(struct cfi_bytes *section, const void *data, size_t size);

/* Begins a CIE: code alignment 1, data alignment -8, return address 16, pointers absolute.
 * `letters` such as "zR" or "zRS"; "" for none. The usual program: CFA = rsp+8, rip at CFA-8. */
void cfi_bytes_cie(struct cfi_bytes *section, const char *letters);

/* Adds a function. */
void cfi_bytes_fde(struct cfi_bytes *section, uint64_t start, uint64_t length,
                   const uint8_t *program, size_t size);
#define CFI_BYTES_FDE(section, start, length, ...)                                                 \
    cfi_bytes_fde((section), (start), (length), (const uint8_t[]){__VA_ARGS__},                    \
                  sizeof(const uint8_t[]){__VA_ARGS__})

/* The same with a CIE of the caller's own letters, augmentation data and program. */
void cfi_bytes_cie_raw(struct cfi_bytes *section, const char *letters, const uint8_t *augmentation,
                       size_t augmentation_size, const uint8_t *program, size_t size);
/* …and an FDE whose pointers are written already. */
void cfi_bytes_fde_raw(struct cfi_bytes *section, const uint8_t *content, size_t size);

#endif
