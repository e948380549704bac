/* Finds functions to annotate, and adds up what each of their lines and instructions cost. */
#include "report/annotate_parts.h"
#include "report/error_text.h"
#include "report/format.h"
#include "report/utf8_text.h"

#include <string.h>

/* Larger functions are made by generators; people do not read them. */
enum { LARGEST_FUNCTION_BYTES = 1 << 20 };

static void add_cost(struct model_cost *sum, struct model_cost cost)
{
    sum->samples += cost.samples;
    sum->weight += cost.weight;
}

/* == The machine code == */

static int open_image(struct annotation *annotation)
{
    struct sprof_error error = {0};
    const int result = report_machine_code_open(
        &annotation->image, &annotation->dataset->modules.items[annotation->module - 1],
        annotation->options->root, &error);
    if (result && result != SPROF_ENOMEM)
        report_annotation_note(annotation, error.message);
    return result == SPROF_ENOMEM ? result : 0;
}

static int disassemble(struct annotation *annotation, struct annotated_code *code)
{
    struct report_dataset *dataset = annotation->dataset;
    struct sprof_error error = {0};
    const int result = report_machine_code_read(
        &code->instructions, &dataset->arena, annotation->image,
        &dataset->functions.items[code->function - 1], annotation->options->intel, &error);
    if (result == SPROF_EUNSUPPORTED) {
        report_annotation_note(annotation, error.message);
        return 0;
    }
    if (!result)
        code->costs = calloc(code->instructions.count + 1, sizeof *code->costs);
    return result || code->costs ? result : SPROF_ENOMEM;
}

/* Finds line and inlined calls of every instruction. */
static int name_instructions(struct annotation *annotation, struct annotated_code *code)
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
        struct annotated_code code = {
            .function = number, .start = function->start, .end = function->start + function->size};
        if (!annotation->in_set[function->owner ? function->owner : number] || !function->size ||
            !annotation->image)
            continue;
        if (function->size > LARGEST_FUNCTION_BYTES) {
            report_annotation_note(annotation,
                                   "the function is too large for its instructions to be shown");
            continue;
        }
        result = disassemble(annotation, &code);
        if (!result)
            result = name_instructions(annotation, &code);
        if (sprof_vec_push(&annotation->codes, code))
            result = SPROF_ENOMEM;
    }
    if (!result && annotation->image && !annotation->codes.count)
        report_annotation_note(annotation,
                               "the function has no code of its own: it is only inlined, and its "
                               "instructions are its callers'");
    return result;
}

/* The instruction that holds the address; NULL where none does. */
static struct annotated_instruction *find_instruction(struct annotation *annotation, uint64_t vaddr)
{
    for (size_t i = 0; i < annotation->codes.count; i++) {
        const struct annotated_code *code = &annotation->codes.items[i];
        const size_t at = report_machine_code_find(&code->instructions, vaddr);
        if (at != SIZE_MAX)
            return &code->costs[at];
    }
    return NULL;
}

/* == Costs == */

static struct annotated_line *line_of(struct annotation *annotation,
                                      const struct report_frame *frame)
{
    const uint64_t key = sprof_hash_pair(sprof_hash_text(frame->file), frame->line);
    const uint64_t *known = sprof_map_get(&annotation->line_indexes, key);
    if (known)
        return &annotation->lines.items[*known - 1];
    const struct annotated_line line = {.file = frame->file, .line = frame->line};
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
            struct annotated_instruction *instruction =
                find_instruction(annotation, image_before_move(annotation->image, vaddr));
            if (instruction)
                count(&instruction->costs, &instruction->seen, index, !i, cost);
        }
        if (!frame || !frame->function || !annotation->in_set[frame->function])
            continue;
        count(&annotation->all, seen, index, !i, cost);
        struct annotated_line *line = frame->file ? line_of(annotation, frame) : NULL;
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

/* Counts what the set's functions cost. */
static int count_set(struct annotation *annotation, struct sprof_error *error)
{
    struct report_dataset *dataset = annotation->dataset;
    int result = 0;
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
    return result ? result : count_all(annotation);
}

static void release(struct annotation *annotation)
{
    for (size_t i = 0; i < annotation->codes.count; i++) {
        struct annotated_code *code = &annotation->codes.items[i];
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

static int annotate_one(struct table *table, struct report_dataset *dataset,
                        const struct report_annotate_options *options, struct sprof_error *error)
{
    struct annotation annotation = {.dataset = dataset, .options = options, .table = table};
    int result = report_function_search(dataset, options->function, &annotation.set, error);
    if (!result)
        result = count_set(&annotation, error);
    if (!result)
        result = report_annotation_begin(&annotation, 1);
    if (!result)
        result = report_annotation_add(&annotation, false);
    if (!result && annotation.notes.length)
        table->left_out = report_utf8_copy(&dataset->arena, annotation.notes.text);
    release(&annotation);
    return result;
}

/* The function with the largest cost of its own, which is then taken out of `own`; 0: none. */
static uint32_t take_hottest(uint64_t *own, size_t count)
{
    size_t most = 0;
    for (size_t i = 1; i < count; i++)
        if (own[i] > own[most])
            most = i;
    if (own[most])
        own[most] = 0;
    else
        return 0;
    return (uint32_t)most + 1;
}

static int annotate_hottest(struct table *table, struct report_dataset *dataset,
                            const struct report_annotate_options *options,
                            struct sprof_error *error)
{
    const size_t count = dataset->functions.count;
    uint64_t *own = calloc(count + 1, sizeof *own);
    struct sprof_str notes = {0};
    int result = own ? 0 : SPROF_ENOMEM;
    for (size_t i = 0; own && i < dataset->paths.items.count; i++) {
        const struct model_path *path = &dataset->paths.items.items[i];
        own[path->function - 1] += report_dataset_value(dataset, path->costs.exclusive);
    }
    for (size_t shown = 0; shown < options->top && !result; shown++) {
        struct annotation annotation = {.dataset = dataset, .options = options, .table = table};
        const uint32_t function = take_hottest(own, count);
        if (!shown)
            result = report_annotation_begin(&annotation, options->top);
        if (!function)
            break;
        if (!result)
            result = sprof_vec_push(&annotation.set, function);
        if (!result)
            result = count_set(&annotation, error);
        if (!result)
            result = report_annotation_add(&annotation, true);
        if (!result && annotation.notes.length)
            sprof_str_appendf(&notes, "%s%s", notes.length ? " · " : "", annotation.notes.text);
        release(&annotation);
    }
    free(own);
    if (!result && notes.length)
        table->left_out = report_utf8_copy(&dataset->arena, notes.text);
    sprof_str_release(&notes);
    return result;
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
    int result = report_dataset_load(&dataset, store, selection, REPORT_STACKS, error);
    if (!result)
        result = report_error_of_rows(&dataset, "lines and instructions", error);
    if (!result)
        result = report_error_code(
            (own.top ? annotate_hottest : annotate_one)(&table, &dataset, &own, error), error);
    if (!result) {
        const struct report_content content = {
            .kind = REPORT_TABLE, .dataset = &dataset, .table = &table};
        result = report_content_write(out, &content, style, error);
    }
    report_table_release(&table);
    report_dataset_release(&dataset);
    return result;
}
