/* Writes arguments and results of kept calls as text. */
#include "report/kept_values.h"
#include "report/kept_tree.h"
#include "report/utf8_text.h"

static uint64_t order_of(uint32_t run, uint32_t number)
{
    return (uint64_t)run << 32 | number;
}

const struct report_call_value *report_kept_values(const struct report_kept *kept,
                                                   const struct report_kept_call *call,
                                                   size_t *count)
{
    const struct report_call_value *all = kept->values.items;
    const uint64_t wanted = order_of(call->run, call->number);
    size_t first = 0, end = kept->values.count;
    *count = 0;
    while (first < end) {
        const size_t middle = first + (end - first) / 2;
        if (order_of(all[middle].run, all[middle].call) < wanted)
            first = middle + 1;
        else
            end = middle;
    }
    for (end = first; end < kept->values.count && order_of(all[end].run, all[end].call) == wanted;
         end++)
        ++*count;
    return *count ? &all[first] : NULL;
}

static void append_value(struct sprof_str *text, const char *value, size_t width)
{
    if (width)
        report_utf8_shortened(text, value, width);
    else
        sprof_str_append(text, value);
}

/* "id = 81723, text = "select"": values from one position to another one. */
static void append_values(struct sprof_str *text, const struct report_call_value *values,
                          size_t count, uint32_t from, uint32_t to, size_t width)
{
    bool is_next = false;
    for (size_t i = 0; i < count; i++) {
        if (values[i].position < from || values[i].position >= to)
            continue;
        sprof_str_append(text, is_next ? ", " : "");
        if (*values[i].name)
            sprof_str_appendf(text, "%s = ", values[i].name);
        append_value(text, values[i].value, width);
        is_next = true;
    }
}

const char *report_kept_arguments(struct report_dataset *dataset,
                                  const struct report_kept_call *call,
                                  struct report_kept_widths widths)
{
    size_t count;
    const struct report_call_value *values = report_kept_values(&dataset->kept, call, &count);
    struct sprof_str text = {0}, cut = {0};
    if (!count || values->position >= STORE_AFTER)
        return NULL;
    sprof_str_append(&text, "(");
    append_values(&text, values, count, STORE_ARGUMENT, STORE_AFTER, widths.value);
    if (text.failed || !widths.all)
        sprof_str_append(&cut, text.failed ? "" : text.text);
    else
        report_utf8_cut(&cut, text.text, widths.all);
    sprof_str_release(&text);
    sprof_str_append(&cut, ")");
    return report_utf8_keep(&dataset->arena, &cut);
}

const char *report_kept_result(struct report_dataset *dataset, const struct report_kept_call *call,
                               size_t width)
{
    size_t count;
    const struct report_call_value *values = report_kept_values(&dataset->kept, call, &count);
    struct sprof_str text = {0};
    if (!count || values->position)
        return NULL;
    append_value(&text, values->value, width);
    return report_utf8_keep(&dataset->arena, &text);
}

const char *report_kept_beside(struct report_dataset *dataset, const struct report_kept_call *call,
                               size_t width)
{
    size_t count;
    const struct report_call_value *values = report_kept_values(&dataset->kept, call, &count);
    struct sprof_str text = {0};
    append_values(&text, values, count, STORE_AFTER, STORE_EXCEPTION, width);
    const bool has = text.length || text.failed;
    const char *kept = has ? report_utf8_keep(&dataset->arena, &text) : NULL;
    sprof_str_release(&text);
    return kept;
}

const char *report_kept_exception(const struct report_kept *kept,
                                  const struct report_kept_call *call)
{
    size_t count;
    const struct report_call_value *values = report_kept_values(kept, call, &count);
    return count && values[count - 1].position == STORE_EXCEPTION ? values[count - 1].value : NULL;
}

const char *report_kept_behind(struct report_dataset *dataset, const struct report_kept_call *call)
{
    enum { VALUE_WIDTH = 32, ALL_WIDTH = 90 };
    const char *arguments =
        report_kept_arguments(dataset, call, (struct report_kept_widths){VALUE_WIDTH, ALL_WIDTH});
    const char *result = report_kept_result(dataset, call, VALUE_WIDTH),
               *mark = report_kept_mark(call),
               *thrown = report_kept_exception(&dataset->kept, call);
    const char *beside = report_kept_beside(dataset, call, VALUE_WIDTH);
    struct sprof_str text = {0};
    if (!arguments && !result && !thrown && !beside)
        return mark;
    sprof_str_appendf(&text, "%s%s%s%s%s%s", arguments ? arguments : "", result ? " = " : "",
                      result ? result : "", mark ? mark : "", thrown ? " " : "",
                      thrown ? thrown : "");
    if (beside)
        sprof_str_appendf(&text, " [%s]", beside);
    return report_utf8_keep(&dataset->arena, &text);
}
