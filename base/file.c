/* Reads at an offset of a file, whatever signals and partial reads do. */
#include "base/file.h"

#include <errno.h>
#include <unistd.h>

size_t sprof_file_read(int fd, uint64_t offset, void *buffer, size_t size)
{
    size_t done = 0;
    while (done < size) {
        const ssize_t got = pread(fd, (char *)buffer + done, size - done, (off_t)(offset + done));
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            break;
        done += (size_t)got;
    }
    return done;
}
