/* Says which debug information of an image could not be read, and what helps. */
#include "symbolize/session.h"

#include <dwarf.h>
#include <elf.h>
#include <elfutils/version.h>
#include <sys/stat.h>

/* Sections that this libelf cannot unpack. */
static bool tell_compression(struct symbolize_session *session)
{
    struct image *const files[] = {session->debug, session->image};
    for (size_t i = 0; i < 2; i++) {
        const uint32_t type = files[i] ? image_compression(files[i], ".debug_info") : 0;
        if (!type || type == ELFCOMPRESS_ZLIB)
            continue;
        sprof_str_appendf(&session->problem,
                          "lines and inlined calls are missing: the debug information in %s is "
                          "compressed with %s, which the libelf here cannot unpack; `objcopy "
                          "--decompress-debug-sections` can",
                          image_path(files[i]), type == 2 ? "zstd" : "an unknown method");
        return true;
    }
    return false;
}

/* What dwz moved to a file that is not there. */
static bool tell_alternate(struct symbolize_session *session)
{
    struct image *const files[] = {session->debug, session->image};
    for (size_t i = 0; i < 2; i++) {
        struct image *alternate = NULL;
        struct sprof_error why = {0};
        if (!files[i] ||
            image_open_alternate(&alternate, session->image, files[i], &why) != SPROF_ENOTFOUND) {
            image_free(alternate);
            continue;
        }
        sprof_str_appendf(
            &session->problem,
            "inlined calls lack their names, which dwz moved to a file of its own: %s; "
            "put it back, then `sprof symbolize --again` reads it",
            why.message);
        return true;
    }
    return false;
}

/* Whether split debug information was put together in a package that this libdw cannot read. */
static bool has_unread_package(const struct image *image)
{
#if _ELFUTILS_PREREQ(0, 191)
    (void)image; /* libdw has looked into it */
    return false;
#else
    struct sprof_str path = {0};
    struct stat status;
    const bool is_there = image && !sprof_str_appendf(&path, "%s.dwp", image_path(image)) &&
                          !stat(path.text, &status) && S_ISREG(status.st_mode);
    sprof_str_release(&path);
    return is_there;
#endif
}

/* Functions and lines are in the program itself. */
static void tell_split(struct symbolize_session *session, const struct flat_missing *missing)
{
    const char *first = missing->first.text ? missing->first.text : "?";
    struct image *const files[] = {session->debug, session->image};
    for (size_t i = 0; i < 2; i++) {
        if (!files[i] || !has_unread_package(files[i]))
            continue;
        sprof_str_appendf(&session->problem,
                          "inlined calls are missing: %zu of its units have their debug "
                          "information in %s.dwp, which libdw reads from elfutils 0.191 on (here "
                          "0.%d); put the .dwo files of which it was made (the first: %s) back to "
                          "where they were built, then `sprof symbolize --again` reads them",
                          missing->count, image_path(files[i]), _ELFUTILS_VERSION, first);
        return;
    }
    sprof_str_appendf(&session->problem,
                      "inlined calls are missing: %zu of its units have their debug information in "
                      ".dwo files that are not there (the first: %s); put them back to where they "
                      "were built, then `sprof symbolize --again` reads them",
                      missing->count, first);
}

void symbolize_session_find_problem(struct symbolize_session *session,
                                    const struct flat_missing *missing)
{
    if (session->problem.text || session->options.symbols_only)
        return;
    if (missing->count)
        tell_split(session, missing);
    else if (tell_alternate(session))
        return;
    else if (session->has_dwarf && session->dwarf_opened &&
             !session->names.dwarf.sections.info.size)
        tell_compression(session);
    else if (!session->has_dwarf && session->other_debug.code == SPROF_EFORMAT)
        sprof_str_appendf(&session->problem, "lines and inlined calls are missing: %s",
                          session->other_debug.message);
}

const char *symbolize_session_problem(const struct symbolize_session *session)
{
    if (session->child)
        return symbolize_child_problem(session->child);
    return session->problem.failed ? NULL : session->problem.text;
}
