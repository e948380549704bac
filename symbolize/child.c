/* Starts a process that reads a foreign file, answers its questions and takes its answers. */
#include "symbolize/child.h"

#include "base/command.h"

#include "symbolize/child_result.h"

#include <errno.h>
#include <poll.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum { STARTS_MAX = 2 };

struct symbolize_child {
    struct image *image;
    struct symbolize_options options;
    struct stat file;
    struct sprof_digest salt;
    pid_t pid; /* 0: none is running */
    int socket;
    unsigned starts;
    struct sprof_str problem;
    struct sprof_arena texts; /* of the last answer's problem */
    /* The question at hand. */
    const uint64_t *addresses;
    size_t count;
    const struct symbolize_bounds *bounds;
    const atomic_bool *stop;
};

/* == Whether == */

static bool has_foreign_alternate(struct image *image, struct image *file)
{
    struct image *alternate = NULL;
    const bool found = file && !image_open_alternate(&alternate, image, file, NULL) && alternate;
    const bool is = found && image_is_foreign(alternate, image_root(image));
    image_free(alternate);
    return is;
}

bool symbolize_child_is_needed(struct image *image, struct image *debug)
{
    if (!&symbolize_child_is_here)
        return false;
    return image_is_foreign(image, "") || (debug && image_is_foreign(debug, image_root(image))) ||
           has_foreign_alternate(image, image) || has_foreign_alternate(image, debug);
}

/* == Start and end == */

static clockid_t clock_of(pid_t pid)
{
    clockid_t clock;
    return clock_getcpuclockid(pid, &clock) ? CLOCK_PROCESS_CPUTIME_ID : clock;
}

uint64_t symbolize_child_cpu_ns(const struct symbolize_child *child)
{
    struct timespec used = {0};
    if (child->pid)
        clock_gettime(clock_of(child->pid), &used);
    return (uint64_t)used.tv_sec * 1000000000 + (uint64_t)used.tv_nsec;
}

/* Says why there are no names, the first time. `status` is that of waitpid. */
static void note_end(struct symbolize_child *child, int status)
{
    static const char cure[] = "its names are missing: the process without rights that reads files "
                               "of other users";
    sprof_str_clear(&child->problem);
    if (WIFSIGNALED(status))
        sprof_str_appendf(&child->problem,
                          "%s was ended by signal %d (%s) while it read this one; `sprof "
                          "symbolize` tries again",
                          cure, WTERMSIG(status), strsignal(WTERMSIG(status)));
    else
        sprof_str_appendf(&child->problem, "%s ended while it read this one", cure);
}

/* Gives it a moment to end by itself, as its status says more then. */
static void end(struct symbolize_child *child, const char *problem)
{
    enum { TRIES = 50, PAUSE_US = 2000 };
    int status = 0;
    pid_t ended = 0;
    if (!child->pid)
        return;
    close(child->socket);
    for (int i = 0; i < (problem ? 1 : TRIES) && !ended; i++)
        if (!(ended = waitpid(child->pid, &status, WNOHANG)) && !problem)
            usleep(PAUSE_US);
    if (!ended) {
        kill(child->pid, SIGKILL);
        status = sprof_command_wait(child->pid);
    }
    child->pid = 0;
    if (!problem || !*problem) {
        note_end(child, status);
    } else {
        sprof_str_clear(&child->problem);
        sprof_str_appendf(&child->problem, "its names are missing: %s", problem);
    }
}

/* Environment and signals are not the child's. Its own group keeps those of the terminal away. */
static int spawn(pid_t *pid, int socket)
{
    static char name[] = SYMBOLIZE_CHILD_NAME, libraries[4096];
    char *const arguments[] = {name, NULL};
    const char *path = getenv("LD_LIBRARY_PATH");
    char *environment[] = {NULL, NULL};
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    sigset_t none, all;
    sigemptyset(&none);
    sigfillset(&all);
    if (path &&
        snprintf(libraries, sizeof libraries, "LD_LIBRARY_PATH=%s", path) < (int)sizeof libraries)
        environment[0] = libraries;
    posix_spawn_file_actions_init(&actions);
    posix_spawnattr_init(&attributes);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK |
                                              POSIX_SPAWN_SETSIGDEF);
    posix_spawnattr_setsigmask(&attributes, &none);
    posix_spawnattr_setsigdefault(&attributes, &all);
    int errnum = posix_spawn_file_actions_adddup2(&actions, socket, CHILD_SOCKET);
    if (!errnum)
        errnum = posix_spawn(pid, "/proc/self/exe", &actions, &attributes, arguments, environment);
    posix_spawnattr_destroy(&attributes);
    posix_spawn_file_actions_destroy(&actions);
    return errnum;
}

/* What a file of this size may need, many times over. */
static struct child_open facts_of(const struct symbolize_child *child)
{
    static const uint64_t gigabyte = UINT64_C(1) << 30, unpacked_max = UINT64_C(4) << 30;
    const uint64_t size = (uint64_t)child->file.st_size;
    const uint64_t claimed = image_packing(child->image).unpacked;
    const uint64_t bytes = size + (claimed < unpacked_max ? claimed : unpacked_max);
    const uint64_t half = (uint64_t)sysconf(_SC_PHYS_PAGES) * (uint64_t)sysconf(_SC_PAGESIZE) / 2;
    return (struct child_open){
        .cpu_s = 120 + bytes / (1 << 20),
        .memory_bytes = (half > 4 * gigabyte ? half : 4 * gigabyte) + 2 * bytes,
        .threads = child->options.threads,
        .symbols_only = child->options.symbols_only,
        .has_cache = child->options.cache != NULL,
        .salt = child->salt,
    };
}

static int wait_for_answer(struct symbolize_child *child, struct child_header *header);

static bool send_open(struct symbolize_child *child)
{
    const char *texts[] = {image_path(child->image), image_root(child->image),
                           child->options.debug_directory};
    struct child_open facts = facts_of(child);
    struct sprof_bytes pieces[4] = {{(const uint8_t *)&facts, sizeof facts}};
    for (size_t i = 0; i < 3; i++) {
        const size_t length = texts[i] ? strlen(texts[i]) : 0;
        if (length > CHILD_PATH_MAX)
            return false;
        pieces[i + 1] = (struct sprof_bytes){(const uint8_t *)texts[i], length};
    }
    facts.path_bytes = (uint32_t)pieces[1].size;
    facts.root_bytes = (uint32_t)pieces[2].size;
    facts.directory_bytes = (uint32_t)pieces[3].size;
    return symbolize_child_send(child->socket, CHILD_OPEN, 0, pieces, 4, image_fd(child->image));
}

static void start(struct symbolize_child *child)
{
    int ends[2], errnum = 0;
    child->starts++;
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends)) {
        errnum = errno;
    } else {
        errnum = spawn(&child->pid, ends[1]);
        child->socket = ends[0];
        close(ends[1]);
        if (errnum) {
            child->pid = 0;
            close(ends[0]);
        }
    }
    sprof_str_clear(&child->problem);
    if (errnum) {
        sprof_str_appendf(&child->problem,
                          "its names are missing: cannot start the process without rights that "
                          "reads files of other users: %s",
                          strerror(errnum));
        return;
    }
    const struct timeval patience = {.tv_sec = 30};
    setsockopt(child->socket, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);
    setsockopt(child->socket, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    struct child_header header;
    if (!send_open(child))
        end(child, NULL);
    else if (wait_for_answer(child, &header) && header.number)
        end(child, sprof_code_text((int)header.number));
}

int symbolize_child_open(struct symbolize_child **out, struct image *image,
                         const struct symbolize_options *options, struct sprof_error *error)
{
    struct symbolize_child *child = *out = calloc(1, sizeof *child);
    if (!child)
        return sprof_error_memory(error);
    child->image = image;
    child->options = *options;
    fstat(image_fd(image), &child->file);
    const uint64_t facts[] = {child->file.st_dev, child->file.st_ino, child->file.st_uid};
    sprof_digest_add(&child->salt, facts, sizeof facts);
    start(child);
    return 0;
}

void symbolize_child_close(struct symbolize_child *child)
{
    struct child_header header;
    if (!child)
        return;
    if (child->pid && symbolize_child_send(child->socket, CHILD_CLOSE, 0, NULL, 0, -1))
        wait_for_answer(child, &header);
    end(child, "");
    sprof_str_release(&child->problem);
    sprof_arena_release(&child->texts);
    free(child);
}

/* == Questions of the child == */

static bool reply(struct symbolize_child *child, int file, const void *data, size_t size)
{
    const struct sprof_bytes bytes = {data, size};
    const bool sent =
        symbolize_child_send(child->socket, CHILD_REPLY, file < 0 ? file : 0, &bytes, 1, file);
    if (file >= 0)
        close(file);
    return sent;
}

static bool serve_file(struct symbolize_child *child, uint64_t size)
{
    char path[CHILD_PATH_MAX + 1] = {0};
    return size <= CHILD_PATH_MAX && symbolize_child_take(child->socket, path, size) &&
           reply(child, image_open_beside(path, child->file.st_uid, image_root(child->image)), NULL,
                 0);
}

static bool take_entry(struct symbolize_child *child, uint64_t size, enum cache_kind *kind,
                       struct sprof_digest *key)
{
    struct child_entry entry;
    if (!child->options.cache || size < sizeof entry ||
        !symbolize_child_take(child->socket, &entry, sizeof entry) ||
        (entry.kind != CACHE_IDENTITY && entry.kind != CACHE_SYMBOLS && entry.kind != CACHE_LINES))
        return false;
    *kind = (enum cache_kind)entry.kind;
    *key = cache_salted(child->salt, entry.key);
    return true;
}

static bool serve_entry(struct symbolize_child *child, uint64_t size)
{
    enum cache_kind kind;
    struct sprof_digest key;
    uint64_t offset;
    if (size != sizeof(struct child_entry) || !take_entry(child, size, &kind, &key))
        return false;
    const int file = cache_open_entry(child->options.cache, kind, key, &offset);
    return reply(child, file < 0 ? -ENOENT : file, NULL, 0);
}

static bool serve_put(struct symbolize_child *child, uint64_t size)
{
    enum cache_kind kind;
    struct sprof_digest key;
    if (!take_entry(child, size, &kind, &key) ||
        (size -= sizeof(struct child_entry)) > CACHE_ENTRY_BYTES_MAX)
        return false;
    uint8_t *content = sprof_bytes_new(size + 1);
    const bool taken = content && symbolize_child_take(child->socket, content, size);
    const struct sprof_bytes piece = {content, size};
    if (taken)
        cache_put(child->options.cache, kind, key, &piece, 1);
    free(content);
    return taken;
}

static bool serve_bounds(struct symbolize_child *child)
{
    const struct symbolize_bounds *bounds = child->bounds;
    struct child_bounds *all = calloc(child->count + 1, sizeof *all);
    if (!all)
        return false;
    for (size_t i = 0; i < child->count && bounds && bounds->find; i++)
        if (!bounds->find(bounds->context, child->addresses[i], &all[i].start, &all[i].end))
            all[i] = (struct child_bounds){0};
    const bool sent = reply(child, -ENODATA, all, child->count * sizeof *all);
    free(all);
    return sent;
}

static bool serve_log(struct symbolize_child *child, const struct child_header *header)
{
    char text[CHILD_TEXT_MAX + 1] = {0};
    if (header->size > CHILD_TEXT_MAX || header->number < SPROF_LOG_DEBUG ||
        header->number > SPROF_LOG_WARNING ||
        !symbolize_child_take(child->socket, text, header->size))
        return false;
    sprof_log_message(child->options.log, (enum sprof_log_level)header->number, "%s", text);
    return true;
}

static bool serve(struct symbolize_child *child, const struct child_header *header)
{
    switch (header->kind) {
    case CHILD_FILE: return serve_file(child, header->size);
    case CHILD_ENTRY: return serve_entry(child, header->size);
    case CHILD_BOUNDS: return header->size == 0 && serve_bounds(child);
    case CHILD_PUT: return serve_put(child, header->size);
    case CHILD_LOG: return serve_log(child, header);
    default: return false;
    }
}

/* Waits until something comes. False where nothing will: it sleeps instead of working. */
static bool wait_until_readable(struct symbolize_child *child)
{
    enum { STOP_MS = 10, PAUSE_MS = 1000, PAUSES_MAX = 30 };
    struct pollfd descriptor = {.fd = child->socket, .events = POLLIN};
    uint64_t used_ns = symbolize_child_cpu_ns(child);
    bool is_signalled = false;
    for (unsigned idle = 0; idle < PAUSES_MAX;) {
        const int ready = poll(&descriptor, 1, child->stop && !is_signalled ? STOP_MS : PAUSE_MS);
        if (ready > 0)
            return true;
        if (child->stop && !is_signalled) {
            is_signalled = atomic_load(child->stop);
            if (is_signalled)
                kill(child->pid, SYMBOLIZE_CHILD_STOP);
            continue;
        }
        const uint64_t now_ns = symbolize_child_cpu_ns(child);
        idle = now_ns == used_ns ? idle + 1 : 0;
        used_ns = now_ns;
    }
    return false;
}

/* Answers its questions until it has answered the request. False: it has ended, or was ended. */
static int wait_for_answer(struct symbolize_child *child, struct child_header *header)
{
    for (;;) {
        int fd;
        if (!wait_until_readable(child)) {
            end(child, "the process without rights that reads files of other users stood still");
            return false;
        }
        if (!symbolize_child_receive(child->socket, header, &fd)) {
            end(child, NULL);
            return false;
        }
        if (fd >= 0) /* it has none that is wanted */
            close(fd);
        if (header->kind == CHILD_ANSWER)
            return true;
        if (!serve(child, header)) {
            end(child, NULL);
            return false;
        }
    }
}

/* == Requests == */

static bool request(struct symbolize_child *child, enum child_kind kind, const uint64_t *addresses,
                    size_t count, struct child_header *header)
{
    const struct sprof_bytes bytes = {(const uint8_t *)addresses, count * sizeof *addresses};
    if (!child->pid)
        return false;
    child->addresses = addresses;
    child->count = count;
    const bool sent = symbolize_child_send(child->socket, kind, 0, &bytes, 1, -1);
    if (!sent)
        end(child, NULL);
    const bool answered = sent && wait_for_answer(child, header);
    child->addresses = NULL;
    child->count = 0;
    return answered;
}

uint64_t symbolize_child_preparable(struct symbolize_child *child)
{
    struct child_header header;
    return request(child, CHILD_PREPARABLE, NULL, 0, &header) && header.number > 0
               ? (uint64_t)header.number
               : 0;
}

void symbolize_child_prepare(struct symbolize_child *child, const uint64_t *addresses, size_t count,
                             const atomic_bool *stop)
{
    struct child_header header;
    child->stop = stop;
    request(child, CHILD_PREPARE, addresses, count, &header);
    child->stop = NULL;
}

/* Takes the answer that a header announced. */
static int take_answer(struct symbolize_child *child, const struct child_header *header,
                       struct symbolize_result *result, size_t count)
{
    const char *problem = NULL;
    const int code =
        symbolize_child_take_result(child->socket, header->size, count, result, &problem);
    if (code) {
        end(child, NULL);
        return code;
    }
    sprof_str_clear(&child->problem);
    if (problem)
        sprof_str_append(&child->problem, problem);
    return 0;
}

static int ask(struct symbolize_child *child, struct symbolize_result *result,
               const uint64_t *addresses, size_t count)
{
    struct child_header header;
    if (!child->pid && child->starts < STARTS_MAX)
        start(child);
    if (child->pid) /* it may have been started by a thread of low priority */
        setpriority(PRIO_PROCESS, (id_t)child->pid, getpriority(PRIO_PROCESS, 0));
    return request(child, CHILD_ASK, addresses, count, &header)
               ? take_answer(child, &header, result, count)
               : SPROF_EFORMAT;
}

/* One that was ended for no fault of its file's is started again, once. */
int symbolize_child_ask(struct symbolize_child *child, struct symbolize_result *result,
                        const uint64_t *addresses, size_t count,
                        const struct symbolize_bounds *bounds)
{
    child->bounds = bounds;
    int code = ask(child, result, addresses, count);
    if (code == SPROF_EFORMAT && child->starts < STARTS_MAX)
        code = ask(child, result, addresses, count);
    child->bounds = NULL;
    return code;
}

const char *symbolize_child_problem(const struct symbolize_child *child)
{
    return child->problem.failed || !child->problem.length ? NULL : child->problem.text;
}
