#include "record/command.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { ARGUMENT_BYTES_MAX = 4096 };

static void append_quoted(struct sprof_str *text, const char *word)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                "0123456789_@%+=:,./-";
    if (text->length)
        sprof_str_append(text, " ");
    if (*word && strspn(word, plain) == strlen(word)) {
        sprof_str_append(text, word);
        return;
    }
    sprof_str_append(text, "'");
    for (; *word; word++)
        sprof_str_append_bytes(text, *word == '\'' ? "'\\''" : word, *word == '\'' ? 4 : 1);
    sprof_str_append(text, "'");
}

/* Moves a built string into the arena. */
static const char *keep(struct sprof_arena *arena, struct sprof_str *text)
{
    const char *kept =
        text->length && !text->failed ? sprof_arena_copy(arena, text->text, text->length) : NULL;
    sprof_str_release(text);
    return kept;
}

const char *record_command_text(struct sprof_arena *arena, char *const *arguments)
{
    struct sprof_str text = {0};
    for (; arguments && *arguments; arguments++)
        append_quoted(&text, *arguments);
    return keep(arena, &text);
}

const char *record_command_of_process(struct sprof_arena *arena, pid_t pid)
{
    char path[64], bytes[ARGUMENT_BYTES_MAX + 1];
    snprintf(path, sizeof path, "/proc/%d/cmdline", (int)pid);
    const int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return NULL;
    const ssize_t size = read(fd, bytes, ARGUMENT_BYTES_MAX);
    close(fd);
    struct sprof_str text = {0};
    if (size > 0)
        bytes[size] = '\0';
    for (ssize_t at = 0; at < size; at += (ssize_t)strlen(bytes + at) + 1)
        append_quoted(&text, bytes + at);
    return keep(arena, &text);
}
