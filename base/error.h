/* Errors: a small set of negative codes, and a message that names the cure. */
#ifndef SPROF_BASE_ERROR_H
#define SPROF_BASE_ERROR_H

#include <stdarg.h>

/* Functions that can fail return 0 or one of these; iterators return 1 at the end. */
enum sprof_code {
    SPROF_OK = 0,
    SPROF_ENOMEM = -1,       /* an allocation failed */
    SPROF_EIO = -2,          /* the kernel refused a read or a write; see the errno */
    SPROF_EFORMAT = -3,      /* bytes from outside do not have the form they claim */
    SPROF_ENOTFOUND = -4,    /* no such file, process, symbol, row */
    SPROF_EPERMISSION = -5,  /* the system forbids it; the message names setting and command */
    SPROF_EUNSUPPORTED = -6, /* this kernel, machine or file version cannot do it */
    SPROF_ELIMIT = -7,       /* a bound that protects memory or time was reached */
    SPROF_EUSAGE = -8,       /* the user asked for something that makes no sense: exit status 2 */
    SPROF_ESTATE = -9,       /* the thing exists but is in the wrong state for this call */
    SPROF_EFULL = -10,       /* no space left on the device */
    SPROF_ENOCOMMAND =
        -11,             /* the command to be started is not there: exit status 127, as a shell's */
    SPROF_ENOEXEC = -12, /* it is there, and cannot be executed: exit status 126 */
};

/* Zero is a valid "no error yet". `message` is one line without the program's name and without a
 * final newline; it may hold a second line with the command that cures. */
struct sprof_error {
    enum sprof_code code;
    int errnum; /* errno at the time, 0 where there was none */
    char message[1024];
};

/* Fills *error (NULL is allowed: then only the code is passed on) and returns `code`, so that a
 * failing path is one statement: return sprof_error_set(error, SPROF_EIO, errno, "…", …). */
int sprof_error_set(struct sprof_error *error, enum sprof_code code, int errnum, const char *format,
                    ...) __attribute__((format(printf, 4, 5)));

/* The usual cause: memory. Returns SPROF_ENOMEM. */
int sprof_error_memory(struct sprof_error *error);

/* Static, lower-case text of a code. */
const char *sprof_code_text(int code);

#endif
