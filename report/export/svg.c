/* A flame graph as a picture (SVG 1.1) that needs no script: hovering shows the title of a box. */
#include "report/export/export.h"
#include "report/name_cut.h"
#include "report/number_format.h"

enum { WIDTH = 1200, MARGIN = 10, ROW = 17, HEAD = 34, CHARACTER = 7 };

/* Boxes that are narrower could not be seen. */
static const double least_width = 0.3;

struct box {
    uint32_t path, parent;
    uint64_t value;
};

static int compare_boxes(const void *a, const void *b)
{
    const struct box *x = a, *y = b;
    if (x->parent != y->parent)
        return x->parent < y->parent ? -1 : 1;
    if (x->value != y->value)
        return x->value > y->value ? -1 : 1;
    return x->path < y->path ? -1 : x->path > y->path;
}

struct picture {
    FILE *out;
    struct report_dataset *dataset;
    const char **short_names; /* [function - 1] */
    double scale;             /* pixels for each unit of value */
    double *left;             /* [path]: where its box begins; [0] the whole picture */
    double *next;             /* [path]: where its next child begins */
    uint32_t depth;           /* of the deepest box that is drawn */
    struct sprof_str text;
};

static const char *color_of(enum model_kind kind, uint32_t function)
{
    static const char *const colors[][3] = {
        [MODEL_KIND_APP] = {"#f5b183", "#f2c48d", "#f0a27a"},
        [MODEL_KIND_SYSTEM] = {"#9cc4e4", "#8fbbe0", "#a8d0e6"},
        [MODEL_KIND_KERNEL] = {"#c5a7e8", "#b99be0", "#d2b6ee"},
        [MODEL_KIND_JIT] = {"#a7dcb0", "#99d3a4", "#b6e4bc"},
        [MODEL_KIND_NONE] = {"#d6d6d6", "#cccccc", "#e0e0e0"},
    };
    const size_t known =
        (size_t)kind < sizeof colors / sizeof *colors ? (size_t)kind : MODEL_KIND_NONE;
    return colors[known][function % 3];
}

static int draw(struct picture *picture, const struct box *box, double width, double top)
{
    const struct report_dataset *dataset = picture->dataset;
    const struct model_path *path = &dataset->paths.items.items[box->path - 1];
    const char *name = report_dataset_function_name(dataset, path->function);
    char share[NUMBER_BYTES];
    report_number_percent(share, box->value, report_dataset_value(dataset, dataset->total), 2);
    fputs("<g><title>", picture->out);
    report_export_xml(picture->out, name);
    fprintf(picture->out, " (%s %s%s, %s) in ", sprof_digits_of(path->costs.inclusive.samples).text,
            report_counted(dataset), sprof_plural(path->costs.inclusive.samples), share);
    report_export_xml(picture->out, report_dataset_module_name(dataset, path->function));
    fprintf(picture->out,
            "</title><rect x=\"%.2f\" y=\"%.0f\" width=\"%.2f\" height=\"%d\" fill=\"%s\"/>",
            picture->left[box->path], top, width, ROW - 1,
            color_of(dataset->facts.items[path->function - 1].kind, path->function));
    const size_t fit = width > 3 * CHARACTER ? (size_t)((width - 6) / CHARACTER) : 0;
    sprof_str_clear(&picture->text);
    if (fit && report_name_cut(NULL, &picture->text, picture->short_names[path->function - 1], fit))
        return SPROF_ENOMEM;
    if (fit) {
        fprintf(picture->out, "<text x=\"%.2f\" y=\"%.0f\">", picture->left[box->path] + 3,
                top + ROW - 5);
        report_export_xml(picture->out, picture->text.text);
        fputs("</text>", picture->out);
    }
    fputs("</g>\n", picture->out);
    return 0;
}

/* The boxes of one parent lie together, the largest first; a parent's path number is smaller. */
static int draw_boxes(struct picture *picture, const struct box *boxes, size_t count, bool measure)
{
    const struct model_path *items = picture->dataset->paths.items.items;
    picture->next[0] = picture->left[0] = MARGIN;
    for (size_t i = 0; i < count; i++)
        picture->left[boxes[i].path] = -1; /* not drawn */
    for (size_t i = 0; i < count; i++) {
        const struct box *box = &boxes[i];
        const double width = (double)box->value * picture->scale;
        if (picture->left[box->parent] < 0 || width < least_width)
            continue;
        picture->left[box->path] = picture->next[box->path] = picture->next[box->parent];
        picture->next[box->parent] += width;
        const uint32_t depth = items[box->path - 1].depth;
        if (measure && depth > picture->depth)
            picture->depth = depth;
        if (!measure && draw(picture, box, width, HEAD + (double)(picture->depth - depth) * ROW))
            return SPROF_ENOMEM;
    }
    return 0;
}

static int draw_picture(struct picture *picture, const struct box *boxes, size_t count)
{
    const struct report_dataset *dataset = picture->dataset;
    int result = draw_boxes(picture, boxes, count, true);
    if (result)
        return result;
    const uint32_t height = HEAD + picture->depth * ROW + MARGIN;
    fprintf(picture->out,
            "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%u\" "
            "viewBox=\"0 0 %d %u\" font-family=\"monospace\" font-size=\"11\">\n"
            "<rect width=\"100%%\" height=\"100%%\" fill=\"#fbfaf8\"/>\n"
            "<text x=\"%d\" y=\"20\" font-size=\"14\">",
            WIDTH, height, WIDTH, height, MARGIN);
    report_export_xml(picture->out, report_export_title(dataset));
    fprintf(picture->out, " · %s %s%s</text>\n", sprof_digits_of(dataset->total.samples).text,
            report_counted(dataset), sprof_plural(dataset->total.samples));
    result = draw_boxes(picture, boxes, count, false);
    fputs("</svg>\n", picture->out);
    return result;
}

int report_svg_write(FILE *out, const struct report_content *content, struct sprof_error *error)
{
    struct report_dataset *dataset = content->dataset;
    const size_t count = dataset->paths.items.count;
    const uint64_t total = report_dataset_value(dataset, dataset->total);
    struct picture picture = {
        .out = out,
        .dataset = dataset,
        .scale = total ? (WIDTH - 2.0 * MARGIN) / (double)total : 0,
        .left = calloc(count + 1, sizeof *picture.left),
        .next = calloc(count + 1, sizeof *picture.next),
    };
    struct box *boxes = calloc(count + 1, sizeof *boxes);
    bool *drawn = calloc(dataset->functions.count + 1, sizeof *drawn);
    int result = boxes && drawn && picture.left && picture.next ? 0 : SPROF_ENOMEM;
    for (size_t i = 0; i < count && !result; i++) {
        const struct model_path *path = &dataset->paths.items.items[i];
        drawn[path->function - 1] = true;
        boxes[i] = (struct box){path->id, path->parent,
                                report_dataset_value(dataset, path->costs.inclusive)};
    }
    if (!result && !(picture.short_names = report_dataset_short_names(dataset, drawn)))
        result = SPROF_ENOMEM;
    if (!result) {
        qsort(boxes, count, sizeof *boxes, compare_boxes);
        result = draw_picture(&picture, boxes, count);
    }
    free(boxes);
    free(drawn);
    free(picture.short_names);
    free(picture.left);
    free(picture.next);
    sprof_str_release(&picture.text);
    return result ? sprof_error_memory(error) : 0;
}
