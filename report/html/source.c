/* Puts the source lines and instructions of the hottest functions into a page, with what each of
 * them cost in whole runs: the numbers of `sprof annotate`. */
#include "report/html/source.h"

#include "names/names.h"
#include "report/html/line_costs.h"
#include "report/html/source_files.h"
#include "report/machine_code.h"
#include "report/utf8_text.h"

#include "symbolize/symbolize.h"

#include <inttypes.h>
#include <string.h>

/* Bounds, so that a page has at most 6 MB; source_files.c bounds the text. */
enum {
    FUNCTIONS_MOST = 160,      /* of all events */
    EXCLUSIVE_MOST = 40,       /* of an event, by exclusive cost */
    INCLUSIVE_MOST = 24,       /* … and by inclusive cost */
    INSTRUCTIONS_MOST = 40000, /* of all functions */
    LARGEST_FUNCTION = 48 << 10,
    STRETCH_MOST = 500, /* more lines than that are cut down to those near a cost */
    AROUND = 10,
};

/* Where an instruction comes from. Files and names are index + 1; 0: unknown. */
struct origin {
    uint32_t file, line;             /* of the function itself */
    uint32_t inlined;                /* the function whose code was put there */
    uint32_t inner_file, inner_line; /* where that lies */
};

/* A function that is shown. */
struct shown {
    uint32_t function;
    uint64_t bias; /* what is added to a file offset to get an address */
    size_t first;  /* of its instructions among all */
    struct report_instructions instructions;
    struct origin *origins; /* [instruction] */
    const char *note;       /* why there are no instructions; NULL: there are */
};

struct page_source {
    const struct html_source_request *request;
    struct report_dataset *dataset;
    struct html_line_costs costs;
    SPROF_VEC(struct shown) shown;
    uint32_t *shown_at; /* [function]: index + 1 */
    SPROF_VEC(const char *) names;
    struct sprof_map name_indexes; /* hash → index + 1 */
    struct html_file_lines *lines; /* [file]: what is shown of it */
    size_t instructions;
};

/* == Which functions == */

static uint64_t value_of(const struct html_source_event *event, struct model_cost cost)
{
    return event->by_weight ? cost.weight : cost.samples;
}

static bool has_code(const struct report_dataset *dataset, uint32_t function)
{
    const enum model_kind kind = dataset->facts.items[function - 1].kind;
    return kind == MODEL_KIND_APP || kind == MODEL_KIND_SYSTEM;
}

/* Adds the functions that cost most of an event: by what they did themselves, or by what was done
 * for them. */
static int choose(struct page_source *source, const struct html_source_event *event, bool inclusive)
{
    struct hottest {
        uint64_t value;
        uint32_t function;
    } best[EXCLUSIVE_MOST];
    const size_t most = inclusive ? INCLUSIVE_MOST : EXCLUSIVE_MOST;
    size_t count = 0;
    for (uint32_t function = 1; function <= source->costs.function_count; function++) {
        const struct model_costs *costs = &source->costs.functions[function - 1];
        const uint64_t value = value_of(event, inclusive ? costs->inclusive : costs->exclusive);
        if (!value || !has_code(source->dataset, function) ||
            (inclusive && !source->dataset->functions.items[function - 1].file))
            continue;
        size_t at = count < most ? count++ : value > best[most - 1].value ? most - 1 : most;
        if (at == most)
            continue;
        for (; at > 0 && best[at - 1].value < value; at--)
            best[at] = best[at - 1];
        best[at] = (struct hottest){value, function};
    }
    for (size_t i = 0; i < count && source->shown.count < FUNCTIONS_MOST; i++) {
        if (source->shown_at[best[i].function])
            continue;
        if (sprof_vec_push(&source->shown, (struct shown){.function = best[i].function}))
            return SPROF_ENOMEM;
        source->shown_at[best[i].function] = (uint32_t)source->shown.count;
    }
    return 0;
}

static int choose_functions(struct page_source *source, struct sprof_error *error)
{
    const struct html_source_request *request = source->request;
    int result = 0;
    for (size_t i = request->event_count; i-- > 0 && !result;) {
        const struct html_source_event *event = &request->events[i];
        result = report_html_lines_count(&source->costs, request->store, event, error);
        if (!result)
            result = choose(source, event, false);
        if (!result)
            result = choose(source, event, true);
    }
    return result;
}

/* == Instructions == */

static uint32_t name_index(struct page_source *source, const char *name)
{
    const uint64_t key = sprof_hash_text(name);
    const uint64_t *known = sprof_map_get(&source->name_indexes, key);
    if (known)
        return (uint32_t)*known;
    const char *copy = report_utf8_copy(&source->dataset->arena, name);
    if (!copy || sprof_vec_push(&source->names, copy) ||
        sprof_map_put(&source->name_indexes, key, source->names.count))
        return 0;
    return (uint32_t)source->names.count;
}

static uint32_t file_number(struct page_source *source, const char *file)
{
    return file ? report_html_lines_file(&source->costs, source->dataset, file) + 1 : 0;
}

static int compare_addresses(const void *a, const void *b)
{
    const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

static struct origin origin_of(struct page_source *source, const struct symbolize_result *names,
                               const uint64_t *addresses, uint64_t address)
{
    const uint64_t *at =
        bsearch(&address, addresses, names->address_count, sizeof *addresses, compare_addresses);
    const size_t index = at ? (size_t)(at - addresses) : 0;
    if (!at || !names->first || names->first[index] == names->first[index + 1])
        return (struct origin){0};
    const struct symbolize_frame *inner = &names->frames[names->first[index]];
    const struct symbolize_frame *outer = &names->frames[names->first[index + 1] - 1];
    struct origin origin = {.file = file_number(source, outer->file), .line = outer->line};
    if (inner != outer) {
        origin.inlined = name_index(source, names->functions[inner->function].name);
        origin.inner_file = file_number(source, inner->file);
        origin.inner_line = inner->line;
    }
    return origin;
}

/* Finds where all instructions of a module come from in one go: each compile unit is read once. */
static int name_instructions(struct page_source *source, struct image *image, uint32_t module)
{
    const struct symbolize_options options = {0};
    struct symbolize_result names = {0};
    SPROF_VEC(uint64_t) addresses = {0};
    int result = 0;
    for (size_t i = 0; i < source->shown.count && !result; i++) {
        const struct shown *shown = &source->shown.items[i];
        if (source->dataset->facts.items[shown->function - 1].module != module)
            continue;
        for (size_t k = 0; k < shown->instructions.count && !result; k++)
            result = sprof_vec_push(&addresses, shown->instructions.items[k].vaddr);
    }
    size_t count = 0;
    if (!result && addresses.count)
        qsort(addresses.items, addresses.count, sizeof *addresses.items, compare_addresses);
    for (size_t i = 0; i < addresses.count; i++)
        if (!i || addresses.items[i] != addresses.items[i - 1])
            addresses.items[count++] = addresses.items[i];
    if (!result && count)
        result = symbolize_image(&names, image, addresses.items, count, NULL, &options, NULL);
    for (size_t i = 0; i < source->shown.count && !result; i++) {
        struct shown *shown = &source->shown.items[i];
        if (source->dataset->facts.items[shown->function - 1].module != module)
            continue;
        shown->origins = calloc(shown->instructions.count + 1, sizeof *shown->origins);
        if (!shown->origins)
            result = SPROF_ENOMEM;
        for (size_t k = 0; k < shown->instructions.count && !result; k++)
            shown->origins[k] =
                origin_of(source, &names, addresses.items, shown->instructions.items[k].vaddr);
    }
    symbolize_result_release(&names);
    sprof_vec_release(&addresses);
    return result;
}

static int compare_starts(const void *a, const void *b)
{
    const struct report_function *const *first = a, *const *second = b;
    return (*first)->start < (*second)->start ? -1 : (*first)->start > (*second)->start;
}

/* The function and its parts that have code, by address. Returns how many of `most` there are. */
static size_t find_pieces(const struct report_dataset *dataset, uint32_t function,
                          const struct report_function **pieces, size_t most)
{
    size_t count = 0;
    for (uint32_t number = 1; number <= dataset->functions.count && count < most; number++) {
        const struct report_function *item = &dataset->functions.items[number - 1];
        if ((item->owner ? item->owner : number) == function && item->size)
            pieces[count++] = item;
    }
    qsort(pieces, count, sizeof *pieces, compare_starts);
    return count;
}

static int read_function(struct page_source *source, struct image *image, struct shown *shown)
{
    enum { PIECES_MOST = 64 };
    const struct report_function *pieces[PIECES_MOST];
    const size_t count = find_pieces(source->dataset, shown->function, pieces, PIECES_MOST);
    struct sprof_error error = {0};
    uint64_t offset, size = 0;
    int result = 0;
    for (size_t i = 0; i < count; i++)
        size += pieces[i]->size;
    if (!count)
        shown->note = "It has no code of its own: it is only inlined.";
    else if (size > LARGEST_FUNCTION || source->instructions > INSTRUCTIONS_MOST)
        shown->note = "To keep the page small its instructions are left out; "
                      "`sprof annotate` shows them.";
    if (shown->note || !image_offset_of_vaddr(image, pieces[0]->start, &offset))
        return 0;
    shown->bias = pieces[0]->start - offset;
    for (size_t i = 0; i < count && !result; i++)
        result = report_machine_code_read(&shown->instructions, &source->dataset->arena, image,
                                          pieces[i], false, &error);
    source->instructions += shown->instructions.count;
    if (result == SPROF_EUNSUPPORTED)
        shown->note = report_utf8_copy(&source->dataset->arena, error.message);
    return result == SPROF_EUNSUPPORTED ? 0 : result;
}

/* Reads the code of all functions of a module. */
static int read_module(struct page_source *source, uint32_t module)
{
    struct image *image;
    struct sprof_error error = {0};
    int result =
        report_machine_code_open(&image, &source->dataset->modules.items[module - 1], NULL, &error);
    if (result == SPROF_ENOMEM)
        return result;
    const char *note = result ? report_utf8_copy(&source->dataset->arena, error.message) : NULL;
    const bool opened = !result;
    result = 0;
    for (size_t i = 0; i < source->shown.count && !result; i++) {
        struct shown *shown = &source->shown.items[i];
        if (source->dataset->facts.items[shown->function - 1].module != module)
            continue;
        shown->note = note;
        result = opened ? read_function(source, image, shown) : 0;
    }
    if (!result && opened)
        result = name_instructions(source, image, module);
    if (opened)
        image_free(image);
    return result;
}

static int read_code(struct page_source *source)
{
    int result = 0;
    for (uint32_t module = 1; module <= source->dataset->modules.count && !result; module++) {
        bool needed = false;
        for (size_t i = 0; i < source->shown.count && !needed; i++)
            needed =
                source->dataset->facts.items[source->shown.items[i].function - 1].module == module;
        if (needed)
            result = read_module(source, module);
    }
    return result;
}

/* Lets the costs of addresses be counted for the instructions that are shown. */
static int find_instructions(struct page_source *source)
{
    struct html_line_costs *costs = &source->costs;
    for (size_t i = 0; i < source->shown.count; i++) {
        struct shown *shown = &source->shown.items[i];
        shown->first = costs->instructions.count;
        for (size_t k = 0; k < shown->instructions.count; k++)
            if (sprof_vec_push(&costs->instructions, (struct html_instruction){0}))
                return SPROF_ENOMEM;
    }
    for (size_t i = 0; i < costs->frames.count; i++) {
        struct html_frame *frame = &costs->frames.items[i];
        const struct html_frame *outermost = frame;
        while (outermost->outer)
            outermost = &costs->frames.items[outermost->outer - 1];
        const uint32_t index = outermost->function ? source->shown_at[outermost->function] : 0;
        if (!index)
            continue;
        const struct shown *shown = &source->shown.items[index - 1];
        const size_t at =
            report_machine_code_find(&shown->instructions, frame->file_offset + shown->bias);
        if (at != SIZE_MAX)
            frame->instruction = (uint32_t)(shown->first + at + 1);
    }
    return 0;
}

/* == Lines == */

/* Lines of a function in one file: all of it, or what is near a cost. */
struct stretch {
    uint32_t first, last; /* last 0: none yet */
};

static void stretch_to(struct stretch *stretch, uint32_t line)
{
    if (!stretch->last || line < stretch->first)
        stretch->first = line;
    if (line > stretch->last)
        stretch->last = line;
}

/* Puts the stretches of a function into the page: [file, first, last] each. */
static int put_ranges(struct page_source *source, struct json *json, const struct shown *shown)
{
    enum { LARGEST_LINE = 10 * 1000 * 1000 };
    const size_t count = source->costs.files.count;
    const struct report_function *function = &source->dataset->functions.items[shown->function - 1];
    struct stretch *stretches = calloc(count + 1, sizeof *stretches);
    if (!stretches)
        return SPROF_ENOMEM;
    for (size_t i = 0; i < source->costs.places.count; i++)
        if (source->costs.places.items[i].function == shown->function)
            stretch_to(&stretches[source->costs.places.items[i].file],
                       source->costs.places.items[i].line);
    for (size_t i = 0; i < shown->instructions.count; i++) {
        const struct origin *origin = &shown->origins[i];
        if (origin->file && origin->line && stretches[origin->file - 1].last)
            stretch_to(&stretches[origin->file - 1], origin->line);
    }
    const uint32_t file = file_number(source, function->file);
    if (file && file <= count && stretches[file - 1].last && function->line)
        stretch_to(&stretches[file - 1], function->line);
    int result = 0;
    report_json_open_array(json, "ranges");
    for (size_t i = 0; i < count && !result; i++) {
        struct stretch stretch = stretches[i];
        if (!stretch.last || stretch.last > LARGEST_LINE)
            continue;
        stretch.first = stretch.first > 2 ? stretch.first - 2 : 1;
        stretch.last += 2;
        report_json_open_array(json, NULL);
        report_json_count(json, NULL, i + 1);
        report_json_count(json, NULL, stretch.first);
        report_json_count(json, NULL, stretch.last);
        report_json_close_array(json);
        if (stretch.last - stretch.first < STRETCH_MOST)
            result = report_html_show_lines(&source->lines[i], stretch.first, stretch.last);
        for (size_t k = 0; k < source->costs.places.count && !result; k++) {
            const struct html_place *place = &source->costs.places.items[k];
            if (place->function == shown->function && place->file == i)
                result = report_html_show_lines(&source->lines[i],
                                                place->line > AROUND ? place->line - AROUND : 1,
                                                place->line + AROUND);
        }
    }
    report_json_close_array(json);
    free(stretches);
    return result;
}

/* == The object == */

/* "call 0x1030 <memcpy@plt>". */
static int put_text(struct json *json, const struct report_instruction *item,
                    struct sprof_str *text)
{
    sprof_str_clear(text);
    sprof_str_append(text, item->text);
    if (item->target_name) {
        sprof_str_append(text, " <");
        names_append(text, item->target_name, NAMES_SHORT);
        sprof_str_append(text, ">");
    }
    report_json_text(json, NULL, text->failed ? "" : text->text);
    return text->failed ? SPROF_ENOMEM : 0;
}

static int put_instructions(struct json *json, const struct shown *shown)
{
    struct sprof_str text = {0};
    int result = 0;
    uint64_t last = 0;
    char start[24];
    snprintf(start, sizeof start, "%" PRIx64,
             shown->instructions.count ? shown->instructions.items[0].vaddr : 0);
    report_json_text(json, "start", start);
    report_json_open_array(json, "code");
    for (size_t i = 0; i < shown->instructions.count && !result; i++) {
        const struct report_instruction *item = &shown->instructions.items[i];
        const struct origin *origin = &shown->origins[i];
        report_json_open_array(json, NULL);
        report_json_count(json, NULL, i ? item->vaddr - last : 0);
        result = put_text(json, item, &text);
        report_json_count(json, NULL, origin->file);
        report_json_count(json, NULL, origin->line);
        if (origin->inlined) {
            report_json_count(json, NULL, origin->inlined);
            report_json_count(json, NULL, origin->inner_file);
            report_json_count(json, NULL, origin->inner_line);
        }
        report_json_close_array(json);
        last = item->vaddr;
    }
    report_json_close_array(json);
    sprof_str_release(&text);
    return result;
}

static int put_functions(struct page_source *source, struct json *json)
{
    int result = 0;
    /* From here on the list of files does not grow any more. */
    for (size_t i = 0; i < source->shown.count; i++) {
        const uint32_t function = source->shown.items[i].function;
        file_number(source, source->dataset->functions.items[function - 1].file);
    }
    source->lines = calloc(source->costs.files.count + 1, sizeof *source->lines);
    if (!source->lines)
        return SPROF_ENOMEM;
    report_json_open_array(json, "functions");
    for (size_t i = 0; i < source->shown.count && !result; i++) {
        const struct shown *shown = &source->shown.items[i];
        report_json_open_object(json, NULL);
        report_json_count(json, "function", source->request->first_function + shown->function - 1);
        if (shown->note)
            report_json_text(json, "note", shown->note);
        result = put_ranges(source, json, shown);
        if (!result)
            result = put_instructions(json, shown);
        report_json_close_object(json);
    }
    report_json_close_array(json);
    return result;
}

static void put_costs(struct json *json, const struct model_costs *costs)
{
    report_json_count(json, NULL, costs->exclusive.samples);
    report_json_count(json, NULL, costs->exclusive.weight);
    report_json_count(json, NULL, costs->inclusive.samples);
    report_json_count(json, NULL, costs->inclusive.weight);
}

static bool is_empty(const struct model_costs *costs)
{
    return !costs->inclusive.samples && !costs->inclusive.weight;
}

/* Lines [function, file, line, inlined, costs…] and instructions [function, index, costs…] that
 * cost something. */
static void put_event(struct page_source *source, struct json *json)
{
    struct html_line_costs *costs = &source->costs;
    report_json_open_object(json, NULL);
    report_json_open_array(json, "lines");
    for (size_t i = 0; i < costs->places.count; i++) {
        const struct html_place *place = &costs->places.items[i];
        const uint32_t shown = source->shown_at[place->function];
        if (!shown || is_empty(&place->costs))
            continue;
        report_json_open_array(json, NULL);
        report_json_count(json, NULL, shown - 1);
        report_json_count(json, NULL, place->file + 1);
        report_json_count(json, NULL, place->line);
        report_json_count(json, NULL,
                          place->inlined ? place->inlined + source->request->first_function : 0);
        put_costs(json, &place->costs);
        report_json_close_array(json);
    }
    report_json_close_array(json);
    report_json_open_array(json, "code");
    for (size_t i = 0; i < source->shown.count; i++) {
        const struct shown *shown = &source->shown.items[i];
        for (size_t k = 0; k < shown->instructions.count; k++) {
            const struct model_costs *own = &costs->instructions.items[shown->first + k].costs;
            if (is_empty(own))
                continue;
            report_json_open_array(json, NULL);
            report_json_count(json, NULL, i);
            report_json_count(json, NULL, k);
            put_costs(json, own);
            report_json_close_array(json);
        }
    }
    report_json_close_array(json);
    report_json_close_object(json);
}

static int put_events(struct page_source *source, struct json *json, struct sprof_error *error)
{
    const struct html_source_request *request = source->request;
    int result = 0;
    report_json_open_array(json, "events");
    for (size_t i = 0; i < request->event_count && !result; i++) {
        result =
            report_html_lines_count(&source->costs, request->store, &request->events[i], error);
        if (!result)
            put_event(source, json);
    }
    report_json_close_array(json);
    return result;
}

static int put_source(struct page_source *source, struct json *json, struct sprof_error *error)
{
    report_json_open_object(json, NULL);
    int result = put_functions(source, json);
    if (!result)
        result = report_html_put_files(json, source->dataset, source->costs.files.items,
                                       source->costs.files.count, source->lines,
                                       source->request->directory);
    if (!result)
        result = put_events(source, json, error);
    report_json_open_array(json, "names");
    for (size_t i = 0; i < source->names.count; i++)
        report_json_text(json, NULL, source->names.items[i]);
    report_json_close_array(json);
    report_json_close_object(json);
    return result;
}

int report_html_source(struct json *json, const struct html_source_request *request,
                       struct sprof_error *error)
{
    struct page_source source = {.request = request, .dataset = request->dataset};
    source.shown_at = calloc(request->dataset->functions.count + 1, sizeof *source.shown_at);
    int result = source.shown_at ? 0 : SPROF_ENOMEM;
    if (!result)
        result = report_html_lines_load(&source.costs, source.dataset, request->store, error);
    if (!result)
        result = choose_functions(&source, error);
    if (!result)
        result = read_code(&source);
    if (!result)
        result = find_instructions(&source);
    if (!result)
        result = put_source(&source, json, error);
    const size_t files = source.costs.files.count;
    for (size_t i = 0; source.lines && i < files; i++)
        free(source.lines[i].shown);
    free(source.lines);
    for (size_t i = 0; i < source.shown.count; i++) {
        sprof_vec_release(&source.shown.items[i].instructions);
        free(source.shown.items[i].origins);
    }
    sprof_vec_release(&source.shown);
    sprof_vec_release(&source.names);
    sprof_map_release(&source.name_indexes);
    free(source.shown_at);
    report_html_lines_release(&source.costs);
    return result;
}
