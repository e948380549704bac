/* One function with its source lines and instructions, and what each of them cost. */
#include "names/names.h"
#include "report/columns.h"
#include "report/error_text.h"
#include "report/format.h"
#include "report/function_search.h"
#include "report/machine_code.h"
#include "report/source_text.h"
#include "report/utf8_text.h"

#include "symbolize/symbolize.h"

#include <inttypes.h>
#include <string.h>

/* Larger functions are made by generators; nobody reads them. */
enum { LARGEST_FUNCTION_BYTES = 1 << 20 };

/* A line of the function. */
struct line {
    const char *file;
    uint32_t line;
    uint32_t inlined; /* a function inlined there; 0: none */
    size_t seen;      /* the cost it was last counted for, + 1 */
    struct model_costs costs;
};

/* The machine code of one physical function. */
struct code {
    uint32_t function;
    uint64_t start, end;
    struct report_instructions instructions;
    struct instruction {
        size_t seen;
        struct model_costs costs;
    } * costs;                     /* [instruction] */
    struct symbolize_result names; /* of each instruction's address */
};

struct annotation {
    struct report_dataset *dataset;
    const struct report_annotate_options *options;
    struct report_function_set set;
    bool *in_set; /* [function] */
    struct model_costs all;
    struct sprof_map line_indexes; /* hash of file and line → index + 1 */
    SPROF_VEC(struct line) lines;
    struct image *image; /* NULL: cannot be read */
    uint32_t module;
    SPROF_VEC(struct code) codes;
    struct sprof_str notes; /* what could not be shown, and why */
    struct table *table;
};

static void add_cost(struct model_cost *sum, struct model_cost cost)
{
    sum->samples += cost.samples;
    sum->weight += cost.weight;
}

static void add_note(struct annotation *annotation, const char *text)
{
    sprof_str_appendf(&annotation->notes, "%s%s", annotation->notes.length ? "; " : "", text);
}

/* == The machine code == */

static int open_image(struct annotation *annotation)
{
    struct sprof_error error = {0};
    const int result = report_machine_code_open(
        &annotation->image, &annotation->dataset->modules.items[annotation->module - 1],
        annotation->options->root, &error);
    if (result && result != SPROF_ENOMEM)
        add_note(annotation, error.message);
    return result == SPROF_ENOMEM ? result : 0;
}

static int disassemble(struct annotation *annotation, struct code *code)
{
    struct report_dataset *dataset = annotation->dataset;
    struct sprof_error error = {0};
    const int result = report_machine_code_read(
        &code->instructions, &dataset->arena, annotation->image,
        &dataset->functions.items[code->function - 1], annotation->options->intel, &error);
    if (result == SPROF_EUNSUPPORTED) {
        add_note(annotation, error.message);
        return 0;
    }
    if (!result)
        code->costs = calloc(code->instructions.count + 1, sizeof *code->costs);
    return result || code->costs ? result : SPROF_ENOMEM;
}

/* Finds line and inlined calls of every instruction. */
static int name_instructions(struct annotation *annotation, struct code *code)
{
    const struct symbolize_options options = {0};
    const size_t count = code->instructions.count;
    uint64_t *addresses = malloc((count + 1) * sizeof *addresses);
    for (size_t i = 0; addresses && i < count; i++)
        addresses[i] = code->instructions.items[i].vaddr;
    const int result = addresses ? symbolize_image(&code->names, annotation->image, addresses,
                                                   count, NULL, &options, NULL)
                                 : SPROF_ENOMEM;
    free(addresses);
    return result;
}

static int add_codes(struct annotation *annotation)
{
    const struct report_dataset *dataset = annotation->dataset;
    int result = 0;
    for (uint32_t number = 1; number <= dataset->functions.count && !result; number++) {
        const struct report_function *function = &dataset->functions.items[number - 1];
        struct code code = {
            .function = number, .start = function->start, .end = function->start + function->size};
        if (!annotation->in_set[function->owner ? function->owner : number] || !function->size ||
            !annotation->image)
            continue;
        if (function->size > LARGEST_FUNCTION_BYTES) {
            add_note(annotation, "the function is too large for its instructions to be shown");
            continue;
        }
        result = disassemble(annotation, &code);
        if (!result)
            result = name_instructions(annotation, &code);
        if (sprof_vec_push(&annotation->codes, code))
            result = SPROF_ENOMEM;
    }
    if (!result && annotation->image && !annotation->codes.count)
        add_note(annotation, "the function has no code of its own: it is only inlined, and its "
                             "instructions are its callers'");
    return result;
}

/* The instruction that holds the address; NULL where none does. */
static struct instruction *find_instruction(struct annotation *annotation, uint64_t vaddr)
{
    for (size_t i = 0; i < annotation->codes.count; i++) {
        const struct code *code = &annotation->codes.items[i];
        const size_t at = report_machine_code_find(&code->instructions, vaddr);
        if (at != SIZE_MAX)
            return &code->costs[at];
    }
    return NULL;
}

/* == Costs == */

static struct line *line_of(struct annotation *annotation, const struct report_frame *frame)
{
    const uint64_t key = sprof_hash_pair(sprof_hash_text(frame->file), frame->line);
    const uint64_t *known = sprof_map_get(&annotation->line_indexes, key);
    if (known)
        return &annotation->lines.items[*known - 1];
    const struct line line = {.file = frame->file, .line = frame->line};
    if (sprof_vec_push(&annotation->lines, line) ||
        sprof_map_put(&annotation->line_indexes, key, annotation->lines.count))
        return NULL;
    return &annotation->lines.items[annotation->lines.count - 1];
}

static void count(struct model_costs *costs, size_t *seen, size_t index, bool innermost,
                  struct model_cost cost)
{
    if (innermost)
        add_cost(&costs->exclusive, cost);
    if (*seen != index + 1)
        add_cost(&costs->inclusive, cost);
    *seen = index + 1;
}

static int count_stack(struct annotation *annotation, size_t index,
                       const struct report_stack *stack, size_t *seen)
{
    const struct report_dataset *dataset = annotation->dataset;
    const struct model_cost cost = dataset->costs.items[index].cost;
    for (size_t i = 0; i < stack->frames.count; i++) {
        const uint32_t number = stack->frames.items[i];
        const struct report_frame *frame = number ? &dataset->frames.items[number - 1] : NULL;
        uint64_t vaddr;
        if (frame && frame->module == annotation->module && annotation->image &&
            image_vaddr_of_offset(annotation->image, frame->file_offset, &vaddr)) {
            struct instruction *instruction =
                find_instruction(annotation, image_before_move(annotation->image, vaddr));
            if (instruction)
                count(&instruction->costs, &instruction->seen, index, !i, cost);
        }
        if (!frame || !frame->function || !annotation->in_set[frame->function])
            continue;
        count(&annotation->all, seen, index, !i, cost);
        struct line *line = frame->file ? line_of(annotation, frame) : NULL;
        if (frame->file && !line)
            return SPROF_ENOMEM;
        if (!line)
            continue;
        count(&line->costs, &line->seen, index, !i, cost);
        const uint32_t inner = i ? stack->frames.items[i - 1] : 0;
        if (inner && dataset->frames.items[inner - 1].outer == number)
            line->inlined = dataset->frames.items[inner - 1].function;
    }
    return 0;
}

static int count_all(struct annotation *annotation)
{
    const struct report_dataset *dataset = annotation->dataset;
    struct report_stack stack = {.calls_of_parts = true};
    size_t seen = 0;
    int result = 0;
    for (size_t i = 0; i < dataset->costs.count && !result; i++) {
        result = report_dataset_stack(dataset, dataset->costs.items[i].node, &stack);
        if (!result)
            result = count_stack(annotation, i, &stack, &seen);
    }
    sprof_vec_release(&stack.frames);
    return result;
}

/* == The table == */

static void make_columns(struct annotation *annotation)
{
    const struct report_dataset *dataset = annotation->dataset;
    const uint64_t whole = report_dataset_value(dataset, dataset->total);
    const unsigned decimals = report_columns_decimals(dataset, dataset->total);
    const struct table_column columns[] = {
        {.title = "self",
         .key = "exclusive_percent",
         .base = "all",
         .kind = TABLE_PERCENT,
         .whole = whole,
         .decimals = decimals},
        {.title = "total",
         .key = "inclusive_percent",
         .base = "all",
         .kind = TABLE_PERCENT,
         .whole = whole,
         .decimals = decimals},
        {.key = "exclusive_samples", .kind = TABLE_COUNT, .only_data = true},
        {.key = "inclusive_samples", .kind = TABLE_COUNT, .only_data = true},
        {.key = "exclusive_weight", .kind = TABLE_COUNT, .only_data = true},
        {.key = "inclusive_weight", .kind = TABLE_COUNT, .only_data = true},
        {.key = "kind", .kind = TABLE_NAME, .only_data = true},
        {.key = "file", .kind = TABLE_NAME, .only_data = true},
        {.key = "line", .kind = TABLE_COUNT, .only_data = true},
        {.key = "address", .kind = TABLE_NAME, .only_data = true},
        {.title = "code", .key = "code", .kind = TABLE_CODE},
        {.title = "from", .key = "inlined", .kind = TABLE_NAME},
    };
    for (size_t i = 0; i < sizeof columns / sizeof *columns; i++)
        report_table_column(annotation->table, columns[i]);
}

static const char *format_text(struct annotation *annotation, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
static const char *format_text(struct annotation *annotation, const char *format, ...)
{
    char text[1000];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    const char *kept = report_utf8_copy(&annotation->dataset->arena, text);
    annotation->table->failed = annotation->table->failed || !kept;
    return kept ? kept : "";
}

struct row {
    const char *kind; /* "source", "instruction"; "" for headings */
    const char *file; /* "" unknown */
    uint32_t line;
    const char *address, *code, *inlined;
};

static void add_row(struct annotation *annotation, const struct model_costs *costs,
                    const struct row *row)
{
    static const struct model_costs none = {0};
    struct table *table = annotation->table;
    const struct report_dataset *dataset = annotation->dataset;
    costs = costs ? costs : &none;
    report_table_put_count(table, report_dataset_value(dataset, costs->exclusive));
    report_table_put_count(table, report_dataset_value(dataset, costs->inclusive));
    report_table_put_count(table, costs->exclusive.samples);
    report_table_put_count(table, costs->inclusive.samples);
    report_table_put_count(table, costs->exclusive.weight);
    report_table_put_count(table, costs->inclusive.weight);
    report_table_put_text(table, row->kind);
    report_table_put_text(table, row->file);
    report_table_put_count(table, row->line);
    report_table_put_text(table, row->address);
    report_table_put_text(table, row->code);
    report_table_put_text(table, row->inlined);
}

static void add_heading(struct annotation *annotation, const char *text)
{
    const struct row row = {"", "", 0, "", text, ""};
    if (annotation->options->brief)
        add_row(annotation, NULL, &row);
}

/* A function as it is called here; the file and line beside it tell functions of one name apart. */
static const char *shown_name(struct annotation *annotation, const char *name)
{
    struct sprof_str text = {0};
    if (annotation->options->full_names)
        return name;
    names_append(&text, name, NAMES_SHORT);
    const char *shown = report_utf8_keep(&annotation->dataset->arena, &text);
    return shown ? shown : name;
}

static int compare_lines(const void *a, const void *b)
{
    const struct line *first = a, *second = b;
    const int by_file = strcmp(first->file, second->file);
    return by_file ? by_file : first->line < second->line ? -1 : first->line > second->line;
}

static void add_source_line(struct annotation *annotation, const struct report_source *source,
                            const char *file, uint32_t number, const struct line *line)
{
    const bool there = number && number <= source->lines.count;
    const char *text = there ? source->lines.items[number - 1] : "";
    const struct row row = {
        .kind = "source",
        .file = file,
        .line = number,
        .address = "",
        .code = annotation->options->brief
                    ? format_text(annotation, "%6" PRIu32 "  %.900s", number, text)
                    : text,
        .inlined =
            line && line->inlined
                ? format_text(annotation, "inlines %.200s",
                              shown_name(annotation, report_dataset_function_name(
                                                         annotation->dataset, line->inlined)))
                : "",
    };
    add_row(annotation, line ? &line->costs : NULL, &row);
}

/* The lines of one file: those that cost something, and what stands around them. */
static void add_file(struct annotation *annotation, const struct report_source *source,
                     const struct line *lines, size_t line_count)
{
    const uint32_t around = source->lines.count ? annotation->options->context : 0;
    uint32_t next = 1; /* the first line that may be shown */
    for (size_t i = 0; i < line_count; i++) {
        const uint32_t at = lines[i].line;
        uint32_t from = at > around ? at - around : 1;
        const uint32_t stop = i + 1 < line_count ? lines[i + 1].line : UINT32_MAX;
        from = from < next ? next : from;
        if (around && from > next && next > 1)
            add_heading(annotation, "     …");
        for (; from < at; from++)
            add_source_line(annotation, source, lines[i].file, from, NULL);
        add_source_line(annotation, source, lines[i].file, at, &lines[i]);
        for (next = at + 1; next <= at + around && next < stop && next <= source->lines.count;
             next++)
            add_source_line(annotation, source, lines[i].file, next, NULL);
    }
}

static int add_sources(struct annotation *annotation)
{
    struct line *lines = annotation->lines.items;
    const size_t count = annotation->lines.count;
    const struct report_source_places places = {annotation->options->root,
                                                annotation->options->source_directory,
                                                &annotation->dataset->source_users};
    int result = 0;
    if (count)
        qsort(lines, count, sizeof *lines, compare_lines);
    else
        add_note(annotation, "there is no debug information about source lines of this function");
    for (size_t first = 0, end; first < count && !result; first = end) {
        struct report_source source;
        struct sprof_error error = {0};
        for (end = first; end < count && !strcmp(lines[end].file, lines[first].file); end++)
            ;
        result =
            report_source_read(&source, &annotation->dataset->arena,
                               report_dataset_file_bytes(annotation->dataset, lines[first].file),
                               &places, annotation->dataset->run.start_realtime_ns, &error);
        if (result && result != SPROF_ENOMEM) {
            add_note(annotation, error.message);
            result = 0;
        }
        if (source.changed)
            add_note(annotation,
                     format_text(annotation,
                                 "%.400s has changed since it was recorded: lines may be "
                                 "others",
                                 lines[first].file));
        add_heading(annotation, lines[first].file);
        if (!result)
            add_file(annotation, &source, lines + first, end - first);
        report_source_release(&source);
    }
    return result;
}

/* Where an instruction comes from: its line, and the function whose code was put there. */
static const char *origin(struct annotation *annotation, const struct code *code, size_t index,
                          const char **file, uint32_t *line)
{
    const struct symbolize_result *names = &code->names;
    *file = "";
    *line = 0;
    if (!names->first || names->first[index] == names->first[index + 1])
        return "";
    const struct symbolize_frame *frame = &names->frames[names->first[index]];
    const bool inlined = names->first[index] + 1 < names->first[index + 1];
    const char *name = strrchr(frame->file ? frame->file : "", '/');
    *line = frame->line;
    *file = frame->file ? format_text(annotation, "%s", frame->file) : "";
    if (!frame->file)
        return "";
    return format_text(annotation, "%s:%" PRIu32 "%s%.200s", name ? name + 1 : frame->file,
                       frame->line, inlined ? " inlined " : "",
                       inlined ? shown_name(annotation, names->functions[frame->function].name)
                               : "");
}

static void add_instructions(struct annotation *annotation, const struct code *code)
{
    const bool brief = annotation->options->brief;
    const uint32_t around = annotation->options->context;
    const char *before = "";
    size_t next = 0, shown = 0;
    for (size_t i = 0; i < code->instructions.count; i++) {
        const struct report_instruction *item = &code->instructions.items[i];
        const struct model_cost cost = code->costs[i].costs.inclusive;
        /* What is near an instruction that cost something is shown. */
        for (size_t k = next > i ? next : i; k <= i + around && k < code->instructions.count; k++) {
            const struct model_cost near = code->costs[k].costs.inclusive;
            if (near.samples || near.weight)
                next = k + around + 1;
        }
        if (brief && i >= next && !cost.samples && !cost.weight)
            continue;
        if (brief && shown && shown < i)
            add_heading(annotation, "     …");
        shown = i + 1;
        struct row row = {.kind = "instruction",
                          .address = format_text(annotation, "0x%" PRIx64, item->vaddr)};
        const char *from = origin(annotation, code, i, &row.file, &row.line);
        row.code = brief ? format_text(annotation, "%8" PRIx64 "  %s", item->vaddr, item->text)
                         : item->text;
        row.inlined = brief && !strcmp(from, before) ? "" : from;
        before = from;
        add_row(annotation, &code->costs[i].costs, &row);
    }
}

static int make_table(struct annotation *annotation)
{
    struct report_dataset *dataset = annotation->dataset;
    const uint32_t function = annotation->set.items[0];
    struct sprof_str title = {0}, note = {0};
    sprof_str_append(&title, "Annotation of ");
    sprof_str_append(&title,
                     shown_name(annotation, report_dataset_function_name(dataset, function)));
    const uint64_t own = annotation->all.exclusive.samples;
    sprof_str_appendf(&note, "%s %s%s in it, %s in it or below, of %s", sprof_digits_of(own).text,
                      report_counts_calls(dataset) ? "call" : "sample", sprof_plural(own),
                      sprof_digits_of(annotation->all.inclusive.samples).text,
                      sprof_digits_of(dataset->total.samples).text);
    *annotation->table = (struct table){
        .title = report_utf8_keep(&dataset->arena, &title),
        .note = report_utf8_keep(&dataset->arena, &note),
        .decimals = report_columns_decimals(dataset, dataset->total),
        .blank_zeros = true,
    };
    make_columns(annotation);
    int result = annotation->options->no_source ? 0 : add_sources(annotation);
    for (size_t i = 0; i < annotation->codes.count && !result; i++) {
        const struct code *code = &annotation->codes.items[i];
        const char *part = dataset->functions.items[code->function - 1].part;
        add_heading(annotation,
                    format_text(annotation, "%s: %.200s%s0x%" PRIx64 ", %" PRIu64 " bytes",
                                dataset->modules.items[annotation->module - 1].name,
                                part ? part : "", part ? ", " : "", code->start,
                                code->end - code->start));
        add_instructions(annotation, code);
    }
    if (!result && annotation->notes.length)
        annotation->table->left_out = report_utf8_copy(&dataset->arena, annotation->notes.text);
    return result || annotation->table->failed || !annotation->table->title ? SPROF_ENOMEM : 0;
}

static int annotate(struct annotation *annotation, struct sprof_error *error)
{
    struct report_dataset *dataset = annotation->dataset;
    int result =
        report_function_search(dataset, annotation->options->function, &annotation->set, error);
    if (result)
        return result;
    annotation->in_set = calloc(dataset->functions.count + 1, sizeof *annotation->in_set);
    if (!annotation->in_set)
        return SPROF_ENOMEM;
    for (size_t i = 0; i < annotation->set.count; i++)
        annotation->in_set[annotation->set.items[i]] = true;
    annotation->module = dataset->facts.items[annotation->set.items[0] - 1].module;
    for (size_t i = 1; i < annotation->set.count; i++)
        if (dataset->facts.items[annotation->set.items[i] - 1].module != annotation->module)
            return sprof_error_set(error, SPROF_EUSAGE, 0,
                                   "several builds of %.200s were recorded, and each has code of "
                                   "its own: choose a run of one of them with --run N",
                                   dataset->modules.items[annotation->module - 1].name);
    if (!annotation->options->no_instructions)
        result = open_image(annotation);
    if (!result)
        result = add_codes(annotation);
    if (!result)
        result = count_all(annotation);
    return result ? result : make_table(annotation);
}

static void release(struct annotation *annotation)
{
    for (size_t i = 0; i < annotation->codes.count; i++) {
        struct code *code = &annotation->codes.items[i];
        sprof_vec_release(&code->instructions);
        symbolize_result_release(&code->names);
        free(code->costs);
    }
    sprof_vec_release(&annotation->codes);
    sprof_vec_release(&annotation->lines);
    sprof_vec_release(&annotation->set);
    sprof_map_release(&annotation->line_indexes);
    sprof_str_release(&annotation->notes);
    free(annotation->in_set);
    image_free(annotation->image);
}

int report_annotate(FILE *out, struct store *store, const struct report_selection *selection,
                    const struct report_annotate_options *options, const struct report_style *style,
                    struct sprof_error *error)
{
    struct report_dataset dataset;
    struct table table = {0};
    struct report_annotate_options own = *options;
    own.brief = !style->format || style->format->brief;
    own.full_names = style->full_names || !own.brief;
    struct annotation annotation = {.dataset = &dataset, .options = &own, .table = &table};
    int result = report_dataset_load(&dataset, store, selection, REPORT_STACKS, error);
    if (!result)
        result = report_error_of_rows(&dataset, "lines and instructions", error);
    if (!result)
        result = report_error_code(annotate(&annotation, error), error);
    if (!result) {
        const struct report_content content = {
            .kind = REPORT_TABLE, .dataset = &dataset, .table = &table};
        result = report_content_write(out, &content, style, error);
    }
    release(&annotation);
    report_table_release(&table);
    report_dataset_release(&dataset);
    return result;
}
