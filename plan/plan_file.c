/* Plans as bytes: a header, functions, callees, texts. What is read is checked number by number: a
 * plan decides which bytes of a running program are changed. */
#include "arch/arch.h"
#include "plan/function_plan.h"

#include <stdlib.h>

enum { NO_TEXT = 0 };
static const char magic[8] = "sprofpl";

struct file_header {
    char magic[8];
    uint32_t version, arch;
    uint64_t functions, callees, text_bytes;
    uint64_t points[PLAN_POINTS];
    uint32_t module, runtime; /* offsets of texts; 0: none */
    uint8_t sanitized, is_loader, lands, unused[5];
};

struct file_function {
    uint64_t start, end, site;
    uint32_t name, linkage_name;
    uint32_t first_callee, callees;
    uint32_t calls, exits, foreign_calls, open_calls, catches;
    uint8_t mechanism, why, displaced, entry_only, from_go, inline_wanted;
    uint8_t original[PLAN_DISPLACED_MAX];
    uint8_t unused[3];
};

struct file_callee {
    uint64_t address;
    uint32_t imported;
    uint8_t is_slot, is_tail, unused[2];
};

_Static_assert(sizeof(struct file_function) % 8 == 0, "no padding to write");
_Static_assert(sizeof(struct file_callee) % 8 == 0, "no padding to write");
_Static_assert(sizeof(struct file_header) % 8 == 0, "no padding to write");

/* == Writing == */

struct texts {
    struct sprof_str bytes;
    bool failed;
};

/* The offset of a text in the file's texts, which begin with an empty one. */
static uint32_t put_text(struct texts *texts, const char *text)
{
    if (!text)
        return NO_TEXT;
    const size_t at = texts->bytes.length;
    texts->failed |= at > UINT32_MAX / 2 || sprof_str_append(&texts->bytes, text) ||
                     sprof_str_append_bytes(&texts->bytes, "", 1);
    return (uint32_t)at;
}

static struct file_function function_of(const struct plan_function *function, struct texts *texts)
{
    struct file_function out = {
        .start = function->start,
        .end = function->end,
        .site = function->site,
        .name = put_text(texts, function->name),
        .first_callee = function->first_callee,
        .callees = function->callees,
        .calls = function->calls,
        .exits = function->exits,
        .foreign_calls = function->foreign_calls,
        .open_calls = function->open_calls,
        .catches = function->catches,
        .mechanism = function->mechanism,
        .why = function->why,
        .displaced = function->displaced,
        .entry_only = function->entry_only,
        .from_go = function->from_go,
        .inline_wanted = function->inline_wanted,
    };
    out.linkage_name = function->linkage_name == function->name
                           ? out.name
                           : put_text(texts, function->linkage_name);
    memcpy(out.original, function->original, sizeof out.original);
    return out;
}

static void fill(const struct plan *plan, struct file_header *header, struct texts *texts)
{
    struct file_function *functions = (void *)(header + 1);
    struct file_callee *callees = (void *)(functions + plan->function_count);
    for (size_t i = 0; i < plan->function_count; i++)
        functions[i] = function_of(&plan->functions[i], texts);
    for (size_t i = 0; i < plan->callee_count; i++)
        callees[i] = (struct file_callee){.address = plan->callees[i].address,
                                          .imported = put_text(texts, plan->callees[i].imported),
                                          .is_slot = plan->callees[i].is_slot,
                                          .is_tail = plan->callees[i].is_tail};
    memcpy(header->magic, magic, sizeof magic);
    header->version = PLAN_VERSION;
    header->arch = ARCH_ELF_MACHINE;
    header->functions = plan->function_count;
    header->callees = plan->callee_count;
    memcpy(header->points, plan->points, sizeof header->points);
    header->module = put_text(texts, plan->module);
    header->runtime = put_text(texts, plan->runtime);
    header->sanitized = plan->sanitized;
    header->is_loader = plan->is_loader;
    header->lands = plan->lands;
    header->text_bytes = texts->bytes.length;
}

int plan_save(const struct plan *plan, struct sprof_bytes *bytes)
{
    const size_t fixed = sizeof(struct file_header) +
                         plan->function_count * sizeof(struct file_function) +
                         plan->callee_count * sizeof(struct file_callee);
    struct texts texts = {0};
    *bytes = (struct sprof_bytes){0};
    uint8_t *data = calloc(1, fixed);
    texts.failed = !data || sprof_str_append_bytes(&texts.bytes, "", 1);
    if (!texts.failed)
        fill(plan, (void *)data, &texts);
    uint8_t *all = texts.failed ? NULL : realloc(data, fixed + texts.bytes.length);
    if (all) {
        memcpy(all + fixed, texts.bytes.text, texts.bytes.length);
        *bytes = (struct sprof_bytes){all, fixed + texts.bytes.length};
    } else {
        free(data);
    }
    sprof_str_release(&texts.bytes);
    return all ? 0 : SPROF_ENOMEM;
}

/* == Reading == */

struct plan_source {
    const struct file_header *header;
    const struct file_function *functions;
    const struct file_callee *callees;
    const char *texts;
    uint32_t last_text;    /* that was read */
    uint64_t callees_seen; /* of the functions so far */
};

static bool open_source(struct sprof_bytes bytes, struct plan_source *source)
{
    const struct file_header *header = (const void *)bytes.data;
    if (bytes.size < sizeof *header || memcmp(header->magic, magic, sizeof magic) != 0 ||
        header->version != PLAN_VERSION || header->arch != ARCH_ELF_MACHINE)
        return false;
    uint64_t left = bytes.size - sizeof *header;
    if (header->functions > left / sizeof *source->functions)
        return false;
    left -= header->functions * sizeof *source->functions;
    if (header->callees > left / sizeof *source->callees)
        return false;
    left -= header->callees * sizeof *source->callees;
    source->header = header;
    source->functions = (const void *)(header + 1);
    source->callees = (const void *)(source->functions + header->functions);
    source->texts = (const void *)(source->callees + header->callees);
    return header->text_bytes == left && left && !source->texts[left - 1];
}

/* Texts are read in the order in which they were put. Those that shared their ends could be
 * far longer together than all. */
static bool get_text(struct plan_source *source, uint32_t offset, const char *texts,
                     const char **text)
{
    *text = offset ? texts + offset : NULL;
    if (!offset)
        return true;
    if (offset <= source->last_text || offset >= source->header->text_bytes || texts[offset - 1])
        return false;
    source->last_text = offset;
    return true;
}

/* A site lies in its function, and what it displaces has room for a jump. */
static bool site_is_valid(const struct file_function *in)
{
    if (in->mechanism == PLAN_NOT)
        return !in->site && !in->displaced;
    if (in->mechanism == PLAN_EMBEDDED)
        return in->site && in->displaced >= PLAN_JUMP_BYTES && in->displaced <= PLAN_DISPLACED_MAX;
    return in->site >= in->start && in->site < in->end && in->site - in->start <= 16 &&
           in->displaced >= PLAN_JUMP_BYTES && in->displaced <= PLAN_DISPLACED_MAX;
}

static bool get_function(struct plan_source *source, size_t i, const char *texts,
                         struct plan_function *out)
{
    const struct file_function *in = &source->functions[i];
    if (in->end <= in->start || (i && in->start < source->functions[i - 1].end) ||
        in->mechanism >= PLAN_MECHANISMS || in->why >= PLAN_REASONS || !site_is_valid(in) ||
        in->first_callee > source->header->callees ||
        in->callees > source->header->callees - in->first_callee ||
        (source->callees_seen += in->callees) > source->header->callees)
        return false;
    *out = (struct plan_function){
        .start = in->start,
        .end = in->end,
        .site = in->site,
        .mechanism = in->mechanism,
        .why = in->why,
        .displaced = in->displaced,
        .entry_only = in->entry_only,
        .from_go = in->from_go,
        .inline_wanted = in->inline_wanted,
        .first_callee = in->first_callee,
        .callees = in->callees,
        .calls = in->calls,
        .exits = in->exits,
        .foreign_calls = in->foreign_calls,
        .open_calls = in->open_calls,
        .catches = in->catches,
    };
    memcpy(out->original, in->original, sizeof out->original);
    if (!get_text(source, in->name, texts, &out->name) || !out->name)
        return false;
    out->linkage_name = out->name;
    return in->linkage_name == in->name ||
           (get_text(source, in->linkage_name, texts, &out->linkage_name) && out->linkage_name);
}

static bool get_callee(struct plan_source *source, size_t i, const char *texts,
                       struct plan_callee *out)
{
    const struct file_callee *in = &source->callees[i];
    *out = (struct plan_callee){
        .address = in->address, .is_slot = in->is_slot != 0, .is_tail = in->is_tail != 0};
    return get_text(source, in->imported, texts, &out->imported);
}

static int read_all(struct plan *plan, struct plan_source *source)
{
    const struct file_header *header = source->header;
    char *texts = sprof_arena_alloc(&plan->texts, (size_t)header->text_bytes);
    plan->functions = calloc((size_t)header->functions + 1, sizeof *plan->functions);
    plan->callees = calloc((size_t)header->callees + 1, sizeof *plan->callees);
    if (!texts || !plan->functions || !plan->callees)
        return SPROF_ENOMEM;
    memcpy(texts, source->texts, (size_t)header->text_bytes);
    bool valid = true;
    for (; plan->function_count < header->functions && valid; plan->function_count++)
        valid = get_function(source, plan->function_count, texts,
                             &plan->functions[plan->function_count]);
    for (; plan->callee_count < header->callees && valid; plan->callee_count++)
        valid = get_callee(source, plan->callee_count, texts, &plan->callees[plan->callee_count]);
    valid = valid && get_text(source, header->module, texts, &plan->module) && plan->module &&
            get_text(source, header->runtime, texts, &plan->runtime);
    plan->sanitized = header->sanitized;
    plan->is_loader = header->is_loader;
    plan->lands = header->lands;
    memcpy(plan->points, header->points, sizeof plan->points);
    return valid ? 0 : SPROF_EFORMAT;
}

int plan_load(struct plan *plan, struct sprof_bytes bytes)
{
    struct plan_source source = {0};
    *plan = (struct plan){0};
    if (!open_source(bytes, &source))
        return SPROF_EFORMAT;
    const int code = read_all(plan, &source);
    if (code)
        plan_release(plan);
    return code;
}
