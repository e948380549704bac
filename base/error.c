/* Formats error messages, and names error codes. */
#include "base/error.h"

#include <stdio.h>

int sprof_error_set(struct sprof_error *error, enum sprof_code code, int errnum, const char *format,
                    ...)
{
    if (!error)
        return code;
    error->code = code;
    error->errnum = errnum;
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(error->message, sizeof error->message, format, arguments);
    va_end(arguments);
    return code;
}

int sprof_error_memory(struct sprof_error *error)
{
    return sprof_error_set(error, SPROF_ENOMEM, 0, "out of memory");
}

const char *sprof_code_text(int code)
{
    switch ((enum sprof_code)code) {
    case SPROF_OK: return "no error";
    case SPROF_ENOMEM: return "out of memory";
    case SPROF_EIO: return "input/output error";
    case SPROF_EFORMAT: return "malformed data";
    case SPROF_ENOTFOUND: return "not found";
    case SPROF_EPERMISSION: return "not permitted";
    case SPROF_EUNSUPPORTED: return "not supported here";
    case SPROF_ELIMIT: return "limit reached";
    case SPROF_EUSAGE: return "wrong usage";
    case SPROF_ESTATE: return "wrong state";
    case SPROF_EFULL: return "no space left";
    case SPROF_ENOCOMMAND: return "command not found";
    case SPROF_ENOEXEC: return "command not executable";
    }
    return "unknown error";
}
