/* Cuts names to the width of their column, the last component last. */
#include "report/name_cut.h"

#include "names/names.h"
#include "report/utf8_text.h"

#include <string.h>

enum { NUMBERED_MOST = 1000 };

static const char cut_sign[] = "…";

size_t report_name_least(const char *name)
{
    const size_t last = names_last(name);
    return report_utf8_width(name + last) + (last > 0);
}

static int take(struct report_cut_names *names, const char *text, const char *name)
{
    return names ? sprof_map_put(&names->shown, sprof_hash_text(text), (uintptr_t)name) : 0;
}

int report_name_whole(struct report_cut_names *names, const char *name)
{
    return take(names, name, name);
}

/* Another name that looks like the text; NULL: none. */
static const char *taken_by(const struct report_cut_names *names, const char *text,
                            const char *name)
{
    const uint64_t *taken = names ? sprof_map_get(&names->shown, sprof_hash_text(text)) : NULL;
    const char *other = taken ? (const char *)(uintptr_t)*taken : NULL;
    return other && strcmp(other, name) ? other : NULL;
}

/* Where the component begins in which two names begin to differ. */
static size_t difference(const char *name, const char *other)
{
    size_t component = 0;
    for (size_t i = 0; name[i] && name[i] == other[i]; i++)
        if (name[i] == ':' && i && name[i - 1] == ':')
            component = i + 1;
    return component;
}

/* Bytes of the first `width` columns of a text, at most `most`. */
static size_t bytes_of(const char *text, size_t width, size_t most)
{
    size_t bytes = 0;
    for (; width && bytes < most; width--)
        do
            bytes++;
        while (((unsigned char)text[bytes] & 0xc0) == 0x80);
    return bytes < most ? bytes : most;
}

/* "std::ve…insert": as much of its scopes as fits before the last component, from byte `from` on.
 * `sign` stands for what was cut. */
static int cut_scopes(struct sprof_str *out, const char *name, size_t from, const char *sign,
                      size_t width)
{
    const size_t last = names_last(name), signs = report_utf8_width(sign) + (from > 0);
    const size_t taken = report_utf8_width(name + last) + signs;
    sprof_str_clear(out);
    if (taken + (from > 0) <= width && from <= last) {
        sprof_str_append(out, from ? cut_sign : "");
        sprof_str_append_bytes(out, name + from, bytes_of(name + from, width - taken, last - from));
        sprof_str_append(out, sign);
        return sprof_str_append(out, name + last);
    }
    if (from) /* as before: a number is what distinguishes them */
        return cut_scopes(out, name, 0, sign, width);
    /* What numbers the sign goes behind. */
    const size_t own = strlen(sign) - strlen(cut_sign);
    const int result = report_utf8_shortened(out, name + last, width > own ? width - own : 0);
    return result ? result : sprof_str_append_bytes(out, sign, own);
}

int report_name_cut(struct report_cut_names *names, struct sprof_str *out, const char *name,
                    size_t width)
{
    struct sprof_str text = {0};
    char sign[16];
    if (report_utf8_width(name) <= width)
        return sprof_str_append(out, name);
    int result = sprof_str_append(&text, "");
    if (!result)
        result = cut_scopes(&text, name, 0, cut_sign, width);
    const char *other = result ? NULL : taken_by(names, text.text, name);
    if (other)
        result = cut_scopes(&text, name, difference(name, other), cut_sign, width);
    for (unsigned number = 2; number < NUMBERED_MOST && width > sizeof sign && !result &&
                              taken_by(names, text.text, name);
         number++) {
        snprintf(sign, sizeof sign, "%u%s", number, cut_sign);
        result = cut_scopes(&text, name, 0, sign, width);
    }
    if (!result)
        result = take(names, text.text, name);
    if (!result)
        result = sprof_str_append(out, text.text);
    sprof_str_release(&text);
    return result;
}

void report_cut_names_release(struct report_cut_names *names)
{
    sprof_map_release(&names->shown);
}
