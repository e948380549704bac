/* Which file a mapping shows, by the kernel's data. */
#ifndef SPROF_BASE_FILE_ID_H
#define SPROF_BASE_FILE_ID_H

#include <stddef.h>
#include <stdint.h>

enum { SPROF_BUILD_ID_MAX = 20 };

/* Zero fields are unknown. The header of each holder states whether it owns or borrows the path. */
struct sprof_file_id {
    const char *path; /* as the target sees it; "//anon", "[vdso]", "[kernel]", "… (deleted)" */
    uint8_t build_id[SPROF_BUILD_ID_MAX];
    uint8_t build_id_size; /* 0: not known; then device and inode may be */
    uint32_t device_major, device_minor;
    uint64_t inode, inode_generation;
};

/* Bytes of a mapped file's path without the " (deleted)" that the kernel says behind it when the
 * file has been removed or replaced since. */
size_t sprof_file_path_length(const char *path);

#endif
