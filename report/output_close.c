/* Finishes what was written, and finds out whether it could be. */
#include "report/output_close.h"

#include <errno.h>
#include <string.h>

int report_output_close(FILE *out, struct sprof_error *error)
{
    errno = 0;
    if (!fflush(out) && !ferror(out))
        return 0;
    /* What failed before left no reason where nothing waits to be written: a disk that is full says
     * it again. */
    if (!errno && fputc('\n', out) != EOF)
        fflush(out);
    const int errnum = errno ? errno : EIO;
    return sprof_error_set(error, errnum == ENOSPC ? SPROF_EFULL : SPROF_EIO, errnum,
                           "cannot write the report: %s%s", strerror(errnum),
                           errnum == ENOSPC || errnum == EDQUOT
                               ? "; free some space, or write to another file system"
                               : "");
}
