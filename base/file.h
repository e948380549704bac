/* Reading files. */
#ifndef SPROF_BASE_FILE_H
#define SPROF_BASE_FILE_H

#include <stddef.h>
#include <stdint.h>

/* Reads `size` bytes at an offset of an open file, whose own position stays as it is. Goes on after
 * a partial read and after a signal. Returns how many bytes there were: fewer at the end of the
 * file, and where reading failed; the result does not distinguish the two. */
size_t sprof_file_read(int fd, uint64_t offset, void *buffer, size_t size);

#endif
