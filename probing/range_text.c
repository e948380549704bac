/* Finds a range's probes by name, address or caller. */
#include "probing/range_text.h"
#include "plan/plan.h"
#include "probing/callees.h"
#include "probing/program.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

bool probing_are_addresses(const char *text)
{
    const char *mark = strrchr(text, '!');
    return !strncmp(mark ? mark + 1 : text, "0x", 2);
}

static bool read_address(const char *text, char **end, uint64_t *address)
{
    errno = 0;
    *address = isxdigit((unsigned char)*text) ? strtoull(text, end, 16) : 0;
    return isxdigit((unsigned char)*text) && !errno;
}

int probing_read_addresses(const char *text, struct probing_addresses *addresses,
                           struct sprof_error *error)
{
    const char *mark = strrchr(text, '!'), *first = mark ? mark + 1 : text;
    char *end;
    addresses->module = mark ? text : NULL;
    addresses->module_length = mark ? (size_t)(mark - text) : 0;
    if (!read_address(first, &end, &addresses->from) || *end != '-' ||
        !read_address(end + 1, &end, &addresses->to) || *end)
        return sprof_error_set(error, SPROF_EUSAGE, 0,
                               "`%.100s` is no range of addresses: write %.*s0xA-0xB, two numbers "
                               "of at most 16 hexadecimal digits; B is behind the last one",
                               text, (int)(first - text < 100 ? first - text : 100), text);
    if (addresses->from >= addresses->to)
        return sprof_error_set(error, SPROF_EUSAGE, 0,
                               "the range %.100s is empty: its end must be behind its beginning",
                               text);
    return 0;
}

bool probing_is_of_module(const struct probing_file *file,
                          const struct probing_addresses *addresses)
{
    const char *slash = strrchr(file->path, '/'), *name = slash ? slash + 1 : file->path;
    const char *module = addresses->module;
    if (!module)
        return true;
    const size_t length = addresses->module_length;
    return (strlen(name) == length && !strncmp(name, module, length)) ||
           (strlen(file->path) == length && !strncmp(file->path, module, length));
}

static bool is_within(const struct probing_program *program,
                      const struct probing_addresses *addresses, const struct probing_probe *probe)
{
    const struct probing_file *file = &program->files.items[probe->file];
    const uint64_t at = probe->function->start + (addresses->module ? 0 : file->bias);
    return at >= addresses->from && at < addresses->to && probing_is_of_module(file, addresses);
}

static const char children[] = "children:";

const char *probing_children_text(const char *text)
{
    const size_t length = sizeof children - 1;
    return !strncmp(text, children, length) && text[length] != ':' ? text + length : NULL;
}

struct naming {
    bool by_address;
    struct probing_addresses addresses;
    struct plan_expressions *expressions; /* or NULL */
    struct probing_callees *callees;      /* or NULL */
};

static int open_naming(struct naming *naming, struct probing_program *program, const char *text,
                       struct sprof_error *error)
{
    const char *roots = probing_children_text(text);
    *naming = (struct naming){.by_address = probing_are_addresses(text)};
    if (naming->by_address)
        return probing_read_addresses(text, &naming->addresses, error);
    return roots ? probing_callees_find(&naming->callees, program, &roots, 1, false, error)
                 : plan_expressions_make(&naming->expressions, &text, 1, error);
}

static int is_named(const struct naming *naming, const struct probing_program *program,
                    const struct probing_probe *probe, struct sprof_error *error)
{
    const struct plan_function *first = program->files.items[probe->file].plan.functions;
    if (naming->by_address)
        return is_within(program, &naming->addresses, probe);
    return naming->callees ? probing_callees_wants(naming->callees, probe->file,
                                                   (size_t)(probe->function - first))
                           : plan_expressions_match(naming->expressions, probe->function, error);
}

int probing_range_hold(struct probing_program *program, struct probing_range *range, size_t first,
                       struct sprof_error *error)
{
    const bool is_first = range->number == 1;
    struct naming naming = {0};
    int result = is_first ? 0 : open_naming(&naming, program, range->text + 1, error);
    for (size_t i = first; i < program->probes.count && !result; i++) {
        const struct probing_probe *probe = &program->probes.items[i];
        int found = probe->is_chosen || (!is_first && probe->is_spare);
        if (found && !is_first)
            found = is_named(&naming, program, probe, error);
        range->holds[i] = found > 0;
        range->sites += found > 0;
        result = error && found < 0 ? found : 0;
    }
    plan_expressions_free(naming.expressions);
    probing_callees_free(naming.callees);
    return result;
}
