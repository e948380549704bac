/* Traces programs that the command and its children execute. A preloaded agent in each connects to
 * a socket and waits for probes. Forks inherit their probes; /proc shows forks that have called
 * nothing yet. */
#include "trace/children.h"
#include "inject/inject.h"
#include "trace/program.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

enum {
    WAITING_MOST = 4096,    /* connections that are not accepted yet */
    ANSWER_S = 10,          /* an agent's process may be stopped */
    COMING_NS = 2000000000, /* time for a process to connect */
    ENVIRONMENT_MAX = 4 << 20,
};

/* An agent that has not sent its hello. */
struct newcomer {
    int fd;
    pid_t pid;
};

/* A process with the command's environment, but no program. */
struct stranger {
    pid_t pid;
    uint64_t start; /* in ticks since boot */
    uint64_t seen_ns;
};

enum listener { OF_NETWORK, OF_FILES, LISTENERS };

struct trace_children {
    int listeners[LISTENERS]; /* abstract socket, file; -1: none */
    char address[64];         /* NAME:SECRET; only the command's environment holds the secret */
    char file[INJECT_KEEPER_FILE_MAX];
    SPROF_VEC(struct newcomer) newcomers;
    SPROF_VEC(struct stranger) strangers;
    struct sprof_map left;            /* pids that executed after their program was over */
    SPROF_VEC(const char *) reported; /* executables whose refusal was reported */
    size_t programs, left_out;
    bool has_reported_end;
};

/* == Beginning == */

static int listen_at(const char *path, size_t length)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    const int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    memcpy(address.sun_path, path, length);
    if (fd < 0 || (!bind(fd, (const struct sockaddr *)&address,
                         (socklen_t)(offsetof(struct sockaddr_un, sun_path) + length)) &&
                   !listen(fd, WAITING_MOST)))
        return fd;
    const int errnum = errno;
    close(fd);
    errno = errnum;
    return -1;
}

/* Abstract sockets do not reach other network namespaces. The secret admits programs of other
 * users. */
static void listen_at_file(struct trace_children *children, const char *name, int length)
{
    snprintf(children->file, sizeof children->file, PROBE_SOCKETS "%.*s", length, name);
    children->listeners[OF_FILES] = listen_at(children->file, strlen(children->file));
    if (children->listeners[OF_FILES] < 0)
        children->file[0] = '\0';
    else
        chmod(children->file, 0666);
}

static int open_children(struct trace_session *session, struct sprof_error *error)
{
    struct trace_children *children = session->trace->children = calloc(1, sizeof *children);
    uint64_t random[2];
    if (!children)
        return sprof_error_memory(error);
    for (size_t i = 0; i < LISTENERS; i++)
        children->listeners[i] = -1;
    if (getrandom(random, sizeof random, 0) != sizeof random)
        return sprof_error_set(error, SPROF_EIO, errno, "there are no random numbers: %s",
                               strerror(errno));
    char abstract[40] = "";
    const int length = snprintf(abstract + 1, sizeof abstract - 1, "sprof-%d-%016llx",
                                (int)getpid(), (unsigned long long)random[0]);
    snprintf(children->address, sizeof children->address, "%s:%016llx", abstract + 1,
             (unsigned long long)random[1]);
    children->listeners[OF_NETWORK] = listen_at(abstract, 1 + (size_t)length);
    if (children->listeners[OF_NETWORK] < 0)
        return sprof_error_set(error, SPROF_ELIMIT, errno,
                               "cannot make a socket for the command's children: %s\nsee `ulimit "
                               "-n`",
                               strerror(errno));
    listen_at_file(children, abstract + 1, length);
    inject_keeper_note_file(&session->trace->keeper, children->file);
    return 0;
}

const char *trace_children_address(const struct trace_session *session)
{
    return session->trace->children->address;
}

static int add_polls(const struct trace_session *session, struct trace_polls *polls)
{
    const struct trace_children *children = session->trace->children;
    int result = 0;
    for (size_t i = 0; i < LISTENERS && !result; i++) { /* poll ignores -1 */
        const struct pollfd listener = {.fd = children->listeners[i], .events = POLLIN};
        result = sprof_vec_push(&polls->list, listener);
    }
    for (size_t i = 0; i < children->newcomers.count && !result; i++) {
        const struct pollfd hello = {.fd = children->newcomers.items[i].fd, .events = POLLIN};
        result = sprof_vec_push(&polls->list, hello);
    }
    return result ? result : trace_programs_poll(session, polls);
}

/* == New programs == */

static bool has_figures(const struct trace_session *program, pid_t pid)
{
    const uint32_t used = atomic_load(&program->process.shared->slabs_used);
    bool has = calls_process_find(&program->calls, pid) != NULL;
    for (uint32_t i = 0; i < used && i < program->slab_count && !has; i++)
        has = atomic_load(&program->process.shared->slabs[i].pid) == (uint32_t)pid;
    return has;
}

static int end_process(struct trace_session *program, struct calls_process *process)
{
    process->is_over = true;
    process->has_executed = false;
    inject_keeper_forget(&program->trace->keeper, process->pid);
    program->executable.is_replaced |= process->pid == program->process.pid;
    inject_close(&process->fd);
    return trace_collect_program(program, CALLS_COLLECT_ENDED);
}

/* Reads calls in the old program while the pid still stands for it. */
static int leave_program(struct trace_session *common, pid_t pid, bool *was_known)
{
    uint64_t *has_left = sprof_map_get(&common->trace->children->left, (uint32_t)pid);
    *was_known = has_left && *has_left;
    if (has_left)
        *has_left = false;
    for (size_t i = 0; i < common->trace->programs.count; i++) {
        struct trace_session *program = trace_program_at(common->trace, i);
        if (!has_figures(program, pid))
            continue;
        program->leaves = pid;
        if (trace_collect_program(program, CALLS_COLLECT_ALL))
            return SPROF_ENOMEM;
        program->leaves = 0;
        struct calls_process *process = calls_process_find(&program->calls, pid);
        if (!process || (process->is_over && !process->has_executed))
            continue;
        *was_known = true;
        if (end_process(program, process))
            return SPROF_ENOMEM;
    }
    return 0;
}

static int say_refused(struct trace_session *common, const struct trace_session *program,
                       const struct sprof_error *error)
{
    struct trace_children *children = common->trace->children;
    for (size_t i = 0; i < children->reported.count; i++)
        if (!strcmp(children->reported.items[i], program->executable.path))
            return 0;
    sprof_log_message(common->options.log, SPROF_LOG_WARNING, "%s", error->message);
    const char *path = sprof_arena_text(&common->arena, program->executable.path);
    return path && !sprof_vec_push(&children->reported, path) ? 0 : SPROF_ENOMEM;
}

static int take_program(struct trace_session *common, int fd, pid_t pid,
                        const struct probe_hello *hello)
{
    struct trace_children *children = common->trace->children;
    const struct timeval patience = {.tv_sec = ANSWER_S};
    const struct probe_request give_up = {.kind = PROBE_GIVE_UP};
    struct sprof_error error = {0};
    bool was_known = false;
    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    int result = leave_program(common, pid, &was_known);
    struct trace_session *program =
        result ? NULL : trace_program_make(common, common->backend, fd, pid, hello);
    if (!program ||
        sprof_vec_reserve(&common->trace->programs, common->trace->programs.count + 1)) {
        close(fd);
        free(program);
        return SPROF_ENOMEM;
    }
    result = trace_program_begin(program, was_known, &error);
    if (!result) {
        common->trace->programs.items[common->trace->programs.count++] = &program->probing;
        children->programs++;
        return 0;
    }
    /* Neither programs without chosen functions nor killed ones are reported. The check comes
     * first, because a program may end once its agent goes on. */
    const bool is_over = calls_processes_are_over(&program->calls);
    if (program->process.agent_fd >= 0)
        send(program->process.agent_fd, &give_up, sizeof give_up, MSG_NOSIGNAL);
    if (result != SPROF_ENOTFOUND && result != SPROF_ENOMEM && !is_over) {
        children->left_out++;
        if (say_refused(common, program, &error))
            result = SPROF_ENOMEM;
    }
    trace_program_free(program);
    return result == SPROF_ENOMEM ? SPROF_ENOMEM : 0;
}

static bool has_our_environment(const struct trace_children *children, pid_t pid)
{
    char path[64], variable[96];
    struct sprof_str environment = {0};
    sprof_proc_shared_path(path, sizeof path, pid, "environ");
    snprintf(variable, sizeof variable, PROBE_VARIABLE "=@%s", children->address);
    const bool has = !sprof_proc_read(path, ENVIRONMENT_MAX, &environment) && environment.text &&
                     memmem(environment.text, environment.length, variable, strlen(variable) + 1);
    sprof_str_release(&environment);
    return has;
}

/* Accepts this user's processes. Root also accepts other users', if they have the command's
 * environment. */
static bool is_welcome(const struct trace_children *children, const struct ucred *peer)
{
    return peer->pid > 0 &&
           (peer->uid == geteuid() || (!geteuid() && has_our_environment(children, peer->pid)));
}

static int accept_newcomers(struct trace_children *children, int listener)
{
    int fd;
    while ((fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC)) >= 0) {
        struct ucred peer;
        socklen_t length = sizeof peer;
        if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &length) ||
            !is_welcome(children, &peer)) {
            close(fd);
            continue;
        }
        const struct newcomer newcomer = {fd, peer.pid};
        if (sprof_vec_push(&children->newcomers, newcomer)) {
            close(fd);
            return SPROF_ENOMEM;
        }
    }
    return 0;
}

static int hear_newcomers(struct trace_session *common)
{
    struct trace_children *children = common->trace->children;
    int result = 0;
    for (size_t i = 0; i < children->newcomers.count && !result;) {
        const struct newcomer newcomer = children->newcomers.items[i];
        struct probe_hello hello;
        const ssize_t got = recv(newcomer.fd, &hello, sizeof hello, MSG_DONTWAIT);
        if (got < 0 && (errno == EAGAIN || errno == EINTR)) {
            i++;
            continue;
        }
        children->newcomers.items[i] = children->newcomers.items[--children->newcomers.count];
        if (got == sizeof hello)
            result = take_program(common, newcomer.fd, newcomer.pid, &hello);
        else
            close(newcomer.fd);
    }
    return result;
}

/* == Processes without calls == */

static int assign(struct trace_session *common, pid_t pid, bool *is_assigned)
{
    struct sprof_str maps = {0};
    const char *text = calls_maps_read(pid, &maps);
    int result = 0;
    *is_assigned = false;
    for (size_t i = 0; i < common->trace->programs.count && text && !result; i++) {
        struct trace_session *program = trace_program_at(common->trace, i);
        struct calls_process *process = calls_process_find(&program->calls, pid);
        const bool shares = calls_maps_hold_program(text, &program->calls);
        *is_assigned |= shares;
        if (shares && (!process || process->is_over))
            result = calls_process_add_forked(&program->calls, pid);
        else if (!shares && process && !process->is_over)
            process->is_over = process->has_executed = true;
    }
    sprof_str_release(&maps);
    return result;
}

/* *is: true for COMING_NS after the first call for this process. */
static int is_coming(struct trace_children *children, pid_t pid, uint64_t start, bool *is)
{
    const struct stranger fresh = {pid, start, sprof_clock_monotonic_ns()};
    for (size_t i = 0; i < children->strangers.count; i++) {
        const struct stranger *known = &children->strangers.items[i];
        if (known->pid != pid || known->start != start)
            continue;
        *is = fresh.seen_ns - known->seen_ns < COMING_NS;
        return 0;
    }
    *is = true;
    return sprof_vec_push(&children->strangers, fresh);
}

static int scan(struct trace_session *common, size_t *coming)
{
    struct trace_children *children = common->trace->children;
    struct sprof_proc_stat stat;
    const uint64_t oldest = sprof_proc_stat_read(getpid(), &stat) ? stat.start_ticks : 0;
    DIR *directory = opendir("/proc");
    const struct dirent *entry;
    int result = 0;
    *coming = 0;
    while (directory && !result && (entry = readdir(directory))) {
        const pid_t pid = (pid_t)strtol(entry->d_name, NULL, 10);
        bool is_assigned, is = false;
        if (pid <= 0 || pid == getpid() ||
            pid == common->trace->keeper.pid || /* maps part of it, too */
            !sprof_proc_stat_read(pid, &stat) || stat.start_ticks < oldest || stat.state == 'Z')
            continue;
        result = assign(common, pid, &is_assigned);
        if (!result && !is_assigned && has_our_environment(children, pid))
            result = is_coming(children, pid, stat.start_ticks, &is);
        *coming += is;
    }
    if (directory)
        closedir(directory);
    return result;
}

static int find(struct trace_session *session)
{
    size_t coming;
    return scan(session, &coming);
}

/* == Detaching == */

static int let_go(struct trace_session *program, struct calls_process *process,
                  uint64_t *stopped_ns, struct sprof_error *error)
{
    struct inject_process *command = &program->common->process;
    const pid_t pid = process->pid;
    const bool is_command = pid == command->pid; /* the only one that is locked */
    if (pid == program->process.pid)             /* forks do not connect */
        trace_loader_close(&program->loader);
    int result = inject_take_out_of(pid, is_command ? command->lock_fd : -1, stopped_ns,
                                    program->options.log, error);
    if (result)
        return result;
    if (is_command)
        inject_close(&command->lock_fd);
    process->is_out = true;
    if (calls_program_is_mapped(&program->calls, pid))
        return 0;
    result = trace_collect_program(program, CALLS_COLLECT_ALL);
    process = calls_process_find(&program->calls, pid); /* may have moved */
    return result || end_process(program, process) ? sprof_error_memory(error) : 0;
}

int trace_children_detach(struct trace_session *session, pid_t pid, uint64_t *stopped_ns,
                          struct sprof_error *error)
{
    if (find(session)) /* it may have called nothing yet */
        return sprof_error_memory(error);
    for (size_t i = 0; i < session->trace->programs.count; i++) {
        struct trace_session *program = trace_program_at(session->trace, i);
        struct calls_process *process = calls_process_find(&program->calls, pid);
        if (process && !process->is_over && !process->is_out)
            return let_go(program, process, stopped_ns, error);
    }
    return sprof_error_set(error, SPROF_ENOTFOUND, 0, "process %d is not traced here", (int)pid);
}

/* == Ended programs == */

static int end_program(struct trace_session *common, size_t index)
{
    struct trace_session *program = trace_program_at(common->trace, index);
    struct trace_children *children = common->trace->children;
    int result = 0;
    for (size_t i = 0; i < program->processes.list.count && !result; i++)
        if (program->processes.list.items[i].has_executed)
            result = sprof_map_put(&children->left, (uint32_t)program->processes.list.items[i].pid,
                                   true);
    const int ended = trace_program_end(common, index, CALLS_COLLECT_LAST);
    return result ? result : ended;
}

static bool any_is_over(const struct trace_session *common)
{
    bool any = false;
    for (size_t i = 0; i < common->trace->programs.count; i++)
        any |= calls_processes_are_over(&trace_program_at(common->trace, i)->calls);
    return any;
}

static int end_programs(struct trace_session *common)
{
    size_t coming;
    int result = any_is_over(common) ? scan(common, &coming) : 0;
    for (size_t i = common->trace->programs.count; i && !result; i--)
        if (calls_processes_are_over(&trace_program_at(common->trace, i - 1)->calls))
            result = end_program(common, i - 1);
    return result;
}

/* Each program is set up when it comes. */
static int set_up(struct trace_session *session, struct sprof_error *error)
{
    counters_read_clocks(&session->times.start.ns, &session->times.start.ticks);
    return probing_ranges_begin(&session->probing, error);
}

static int serve(struct trace_session *session)
{
    struct trace_children *children = session->trace->children;
    int result = 0;
    for (size_t i = 0; i < LISTENERS && !result; i++)
        result = accept_newcomers(children, children->listeners[i]);
    if (!result)
        result = hear_newcomers(session);
    return result ? result : end_programs(session);
}

/* The command itself has ended since the last look. */
static size_t count_living(struct trace_session *program)
{
    size_t living = 0;
    calls_processes_are_over(&program->calls);
    for (size_t i = 0; i < program->processes.list.count; i++)
        living += !program->processes.list.items[i].is_over;
    return living;
}

static bool are_over(struct trace_session *session)
{
    struct trace_children *children = session->trace->children;
    size_t coming = 0, living = 0;
    if (!children->newcomers.count && !session->trace->programs.count)
        return scan(session, &coming) || !coming;
    for (size_t i = 0; i < session->trace->programs.count && !children->has_reported_end; i++)
        living += count_living(trace_program_at(session->trace, i));
    if (living) {
        children->has_reported_end = true;
        sprof_log_message(session->options.log, SPROF_LOG_NOTE,
                          "the command has ended; %zu process%s that it started %s on and %s still "
                          "traced: Ctrl-C or `sprof ctl end` ends that",
                          living, living == 1 ? "" : "es", living == 1 ? "goes" : "go",
                          living == 1 ? "is" : "are");
    }
    return false;
}

static void count_programs(const struct trace_session *session, struct trace_result *result)
{
    const struct trace_children *children = session->trace->children;
    result->programs = children->programs;
    result->processes = session->trace->ended_probes.processes;
    result->left_out = children->left_out;
    for (size_t i = 0; i < session->trace->programs.count; i++)
        result->processes += trace_program_at(session->trace, i)->processes.list.count;
}

static void close_children(struct trace_session *session)
{
    struct trace_children *children = session->trace->children;
    for (size_t i = 0; i < LISTENERS; i++) {
        if (children->listeners[i] >= 0)
            close(children->listeners[i]);
        children->listeners[i] = -1;
    }
    if (children->file[0])
        unlink(children->file);
    children->file[0] = '\0';
    for (size_t i = 0; i < children->newcomers.count; i++)
        close(children->newcomers.items[i].fd);
    children->newcomers.count = 0;
}

static void free_children(struct trace_session *session)
{
    struct trace_children *children = session->trace->children;
    if (!children)
        return;
    close_children(session);
    sprof_vec_release(&children->newcomers);
    sprof_vec_release(&children->strangers);
    sprof_vec_release(&children->reported);
    sprof_map_release(&children->left);
    free(children);
    session->trace->children = NULL;
}

const struct trace_membership trace_of_children = {
    .ends_with_target = true,
    .open = open_children,
    .set_up = set_up,
    .serve = serve,
    .polls = add_polls,
    .find = find,
    .are_over = are_over,
    .close = close_children,
    .count = count_programs,
    .free = free_children,
};
