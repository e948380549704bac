/* Puts the text of source files into a page, of each the lines that are shown. */
#include "report/html/source_files.h"

#include "report/source_text.h"

#include <stdlib.h>
#include <string.h>

enum { TEXT_MOST = 1500 * 1000 }; /* of all files, so that a page has at most 6 MB */

int report_html_show_lines(struct html_file_lines *lines, uint32_t first, uint32_t last)
{
    if (last > lines->count) {
        bool *shown = realloc(lines->shown, last * sizeof *shown);
        if (!shown)
            return SPROF_ENOMEM;
        memset(shown + lines->count, 0, (last - lines->count) * sizeof *shown);
        lines->shown = shown;
        lines->count = last;
    }
    for (uint32_t line = first; line <= last; line++)
        lines->shown[line - 1] = true;
    return 0;
}

static void put_lines(struct json *json, const struct report_source *text,
                      const struct html_file_lines *lines)
{
    report_json_open_array(json, "parts");
    for (size_t i = 0; i < lines->count && i < text->lines.count; i++) {
        if (!lines->shown[i])
            continue;
        if (!i || !lines->shown[i - 1]) {
            report_json_open_array(json, NULL);
            report_json_count(json, NULL, i + 1);
            report_json_open_array(json, NULL);
        }
        report_json_text(json, NULL, text->lines.items[i]);
        if (i + 1 >= lines->count || i + 1 >= text->lines.count || !lines->shown[i + 1]) {
            report_json_close_array(json);
            report_json_close_array(json);
        }
    }
    report_json_close_array(json);
}

static size_t text_bytes(const struct report_source *text, const struct html_file_lines *lines)
{
    size_t bytes = 0;
    for (size_t i = 0; i < lines->count && i < text->lines.count; i++)
        bytes += lines->shown[i] ? strlen(text->lines.items[i]) + 3 : 0;
    return bytes;
}

int report_html_put_files(struct json *json, struct report_dataset *dataset,
                          const char *const *paths, size_t count,
                          const struct html_file_lines *lines, const char *directory)
{
    const struct report_source_places places = {NULL, directory, &dataset->source_users};
    size_t left = TEXT_MOST;
    int result = 0;
    report_json_open_array(json, "files");
    for (size_t i = 0; i < count && result != SPROF_ENOMEM; i++) {
        struct report_source text = {0};
        struct sprof_arena texts = {0}; /* of one file at a time */
        struct sprof_error error = {0};
        report_json_open_object(json, NULL);
        report_json_text(json, "path", paths[i]);
        if (lines[i].count) {
            result = report_source_read(&text, &texts, report_dataset_file_bytes(dataset, paths[i]),
                                        &places, dataset->run.start_realtime_ns, &error);
            const size_t bytes = text_bytes(&text, &lines[i]);
            if (result)
                report_json_text(json, "note", error.message);
            else if (bytes > left)
                report_json_text(json, "note", "Left out to keep the page small.");
            else if (text.changed)
                report_json_text(json, "note",
                                 "It has changed since it was recorded: lines may be others.");
            if (!result && bytes <= left) {
                put_lines(json, &text, &lines[i]);
                left -= bytes;
            }
        }
        report_json_close_object(json);
        report_source_release(&text);
        sprof_arena_release(&texts);
    }
    report_json_close_array(json);
    return result == SPROF_ENOMEM ? result : 0;
}
