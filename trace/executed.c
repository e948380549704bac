/* Detects that a traced process now runs another program. */
#include "inject/inject.h"
#include "trace/several.h"
#include "trace/tracing.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Whether the process runs a file other than the first. Keeps the present name of the first, which
 * may be renamed or removed. */
static bool runs_other_file(struct trace_session *session, const char *link, const char *path)
{
    struct stat file;
    const bool is_first = !session->executable.path;
    if ((!is_first && !strcmp(path, session->executable.path)) || stat(link, &file))
        return false;
    if (!is_first &&
        (file.st_dev != session->executable.device || file.st_ino != session->executable.inode))
        return true;
    session->executable.path = sprof_arena_text(&session->arena, path);
    session->executable.device = file.st_dev;
    session->executable.inode = file.st_ino;
    return false;
}

void trace_executed_refresh(struct trace_session *session)
{
    char link[64], path[PATH_MAX];
    sprof_proc_shared_path(link, sizeof link, session->process.pid, "exe");
    const ssize_t length = readlink(link, path, sizeof path - 1);
    const bool is_hidden = length < 0 && (errno == EACCES || errno == EPERM);
    if ((length <= 0 && !is_hidden) || session->executable.is_replaced ||
        (session->options.children && session->executable.path)) /* the next connects by itself */
        return;
    const bool is_first = !session->executable.path,
               may_be = session->backend->borrows || is_hidden;
    if (is_hidden)
        strcpy(path, "a program with other rights");
    else
        path[length] = '\0';
    session->executable.is_replaced =
        (!is_hidden && runs_other_file(session, link, path)) ||
        (!is_first && may_be &&
         inject_lock_is_stale(session->process.pid, session->process.lock_fd));
    char name[32] = "the command";
    if (probing_has_others(&session->probing))
        snprintf(name, sizeof name, "process %d", (int)session->process.pid);
    if (session->executable.is_replaced)
        sprof_log_message(session->options.log, SPROF_LOG_WARNING,
                          "%s executed %s in its place, which is not traced: what was called "
                          "before that is recorded%s",
                          name, path,
                          session->backend->borrows || is_hidden
                              ? ""
                              : "; --children traces what it executes, too");
}
