/* Says which debug information of an image could not be read, and what helps. */
#include "symbolize/session.h"

#include <dwarf.h>
#include <elf.h>

/* Sections that this libelf cannot unpack. */
static bool tell_compression(struct symbolize_session *session)
{
    struct image *const files[] = {session->debug, session->image};
    for (size_t i = 0; i < 2; i++) {
        const uint32_t type = files[i] ? image_compression(files[i], ".debug_info") : 0;
        if (!type || type == ELFCOMPRESS_ZLIB)
            continue;
        sprof_str_appendf(&session->problem,
                          "the debug information in %s is compressed with %s, which the libelf "
                          "here cannot unpack; `objcopy --decompress-debug-sections` can",
                          image_path(files[i]), type == 2 ? "zstd" : "an unknown method");
        return true;
    }
    return false;
}

static void tell_split(struct symbolize_session *session, const struct flat_missing *missing)
{
    sprof_str_appendf(&session->problem,
                      "%zu of its units have their debug information in .dwo files that are not "
                      "there (the first: %s); put them back to where they were built, then "
                      "`sprof symbolize --again` reads them",
                      missing->count, missing->first.text ? missing->first.text : "?");
}

void session_find_problem(struct symbolize_session *session, const struct flat_missing *missing)
{
    if (session->problem.text || session->options.symbols_only)
        return;
    if (missing->count)
        tell_split(session, missing);
    else if (session->has_dwarf && session->dwarf_opened &&
             !session->names.dwarf.sections.info.size)
        tell_compression(session);
    else if (!session->has_dwarf && session->other_debug.code == SPROF_EFORMAT)
        sprof_str_append(&session->problem, session->other_debug.message);
}

const char *symbolize_session_problem(const struct symbolize_session *session)
{
    return session->problem.failed ? NULL : session->problem.text;
}
