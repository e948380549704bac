/* Names of mapped files. */
#include "base/file_id.h"

#include <string.h>

size_t sprof_file_path_length(const char *path)
{
    static const char deleted[] = " (deleted)";
    const size_t length = strlen(path), suffix = sizeof deleted - 1;
    return length > suffix && !strcmp(path + length - suffix, deleted) ? length - suffix : length;
}
