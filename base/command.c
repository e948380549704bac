/* Writes command lines as a shell would read them, and waits for commands. */
#include "base/command.h"

#include "base/proc.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>

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

const char *sprof_command_text(struct sprof_arena *arena, char *const *arguments)
{
    struct sprof_str text = {0};
    for (; arguments && *arguments; arguments++)
        append_quoted(&text, *arguments);
    return keep(arena, &text);
}

const char *sprof_command_of_process(struct sprof_arena *arena, pid_t pid)
{
    char path[64];
    struct sprof_str bytes = {0}, text = {0};
    snprintf(path, sizeof path, "/proc/%d/cmdline", pid);
    int result = sprof_proc_read(path, ARGUMENT_BYTES_MAX, &bytes);
    if (!result && !bytes.length) { /* its first thread has ended, or it is the kernel's */
        sprof_proc_shared_path(path, sizeof path, pid, "cmdline");
        result = sprof_proc_read(path, ARGUMENT_BYTES_MAX, &bytes);
    }
    if (!result)
        for (size_t at = 0; at < bytes.length; at += strlen(bytes.text + at) + 1)
            append_quoted(&text, bytes.text + at);
    sprof_str_release(&bytes);
    return keep(arena, &text);
}

int sprof_command_wait(pid_t child)
{
    int status = -1;
    while (waitpid(child, &status, 0) < 0)
        if (errno != EINTR)
            return -1;
    return status;
}

int sprof_command_append_target(struct sprof_str *out, pid_t pid, char *const *command)
{
    struct sprof_arena arena = {0};
    char *const words[] = {command ? *command : NULL, NULL};
    const char *name = sprof_command_text(&arena, words);
    const int result =
        pid    ? sprof_str_appendf(out, "-p %d", (int)pid)
        : name ? sprof_str_appendf(out, strchr(name, '/') ? "%s" : "$(command -v %s)", name)
               : sprof_str_append(out, "FILE");
    sprof_arena_release(&arena);
    return result;
}
