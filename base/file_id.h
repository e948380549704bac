/* Which file a mapping shows, as the kernel tells it. */
#ifndef SPROF_BASE_FILE_ID_H
#define SPROF_BASE_FILE_ID_H

#include <stdint.h>

enum { SPROF_BUILD_ID_MAX = 20 };

/* Zero fields are unknown. Whoever holds one owns or borrows its path, as its own header says. */
struct sprof_file_id {
    const char *path; /* as the target sees it; "//anon", "[vdso]", "[kernel]", "… (deleted)" */
    uint8_t build_id[SPROF_BUILD_ID_MAX];
    uint8_t build_id_size; /* 0: not known; then device and inode may be */
    uint32_t device_major, device_minor;
    uint64_t inode, inode_generation;
};

#endif
