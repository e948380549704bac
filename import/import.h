/* import: stacks that other tools took become a recording. A format is a file here and a line in
 * import/formats.c. */
#ifndef SPROF_IMPORT_IMPORT_H
#define SPROF_IMPORT_IMPORT_H

#include "base/base.h"
#include "model/model.h"

#include <stdbool.h>

struct import_format;

/* All is borrowed until the call returns. */
struct import_options {
    const char *input; /* a path, "-" for standard input; gzip is unpacked */
    const char *output;
    bool overwrite;                     /* a recording that is replaced is not kept */
    const struct import_format *format; /* NULL: detected from the content */
    struct model_kind_rules rules;
    const char *sprof_version;
    const struct sprof_log *log;
};

/* What was imported. */
struct import_result {
    const char *format; /* its name */
    uint64_t samples;
    size_t runs; /* of rows, else 1 */
};

/* Makes a recording of what the input holds. Lines of text that cannot be read are left out, and
 * said through the log with their numbers. Where nothing can be read, nothing is written, an older
 * recording stays, and SPROF_EFORMAT comes back. Other errors: SPROF_ENOTFOUND, SPROF_EIO,
 * SPROF_ELIMIT for profiles of more than 256 MiB and texts that unpack to more than 4 GiB,
 * SPROF_EUNSUPPORTED where another program is needed that is missing or of another version,
 * SPROF_EUSAGE for a perf.data from standard input, and those of store_create. */
int import_file(const struct import_options *options, struct import_result *result,
                struct sprof_error *error);

enum { IMPORT_ROWS_MAX = 8 << 20 }; /* of each table */

/* The same of rows of a fleet's database, from several inputs together: files, "-", or directories
 * as `sprof export -f rows` fills them. What is wrong in any line ends it, SPROF_EFORMAT;
 * SPROF_ELIMIT for more rows than can be held. `options->input` is not used. */
int import_rows(const struct import_options *options, const char *const *inputs, size_t count,
                struct import_result *result, struct sprof_error *error);

/* Whether a format is that of rows. */
bool import_format_is_rows(const struct import_format *format);

/* The format of a name; NULL with *error listing those there are. */
const struct import_format *import_format_find(const char *name, struct sprof_error *error);

#endif
