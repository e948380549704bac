/* The process that reads a foreign file: gives up its rights, then answers. */
#include "symbolize/child.h"

#include "symbolize/child_result.h"
#include "symbolize/child_rights.h"
#include "symbolize/session.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/* Sends and answers of several threads do not mix. A handler of SIGSYS takes it, too: no thread
 * that has it makes a call that would be trapped. */
static pthread_mutex_t exchange = PTHREAD_MUTEX_INITIALIZER;

/* Set by a signal of the process that started this one. */
static atomic_bool stopping;

struct serving {
    char texts[3][CHILD_PATH_MAX + 1]; /* path, root, debug directory */
    struct image *image;
    struct symbolize_session *session;
    struct cache *cache;
    uint64_t *addresses; /* of the request */
    size_t count;
    struct child_bounds *bounds; /* of these; NULL: not fetched yet */
    bool bounds_failed;
};

/* == Questions == */

/* What came does not matter where the socket is broken: nothing is left to be done. */
static void receive(struct child_header *header, int *fd)
{
    if (!symbolize_child_receive(CHILD_SOCKET, header, fd))
        _exit(0);
}

static void take_all(void *buffer, uint64_t size)
{
    if (!symbolize_child_take(CHILD_SOCKET, buffer, size))
        _exit(0);
}

/* A question that is answered by a descriptor or a negative number. */
static int ask_for_file(enum child_kind kind, struct sprof_bytes question)
{
    struct child_header header;
    int fd;
    pthread_mutex_lock(&exchange);
    if (!symbolize_child_send(CHILD_SOCKET, kind, 0, &question, 1, -1))
        _exit(0);
    receive(&header, &fd);
    pthread_mutex_unlock(&exchange);
    return fd >= 0 ? fd : header.number < 0 ? (int)header.number : -EACCES;
}

static int open_file(const char *path)
{
    const size_t length = strnlen(path, CHILD_PATH_MAX);
    if (length >= CHILD_PATH_MAX)
        return -ENAMETOOLONG;
    return ask_for_file(CHILD_FILE, (struct sprof_bytes){(const uint8_t *)path, length});
}

static int open_entry(void *context, enum cache_kind kind, struct sprof_digest key)
{
    const struct child_entry entry = {key, kind};
    (void)context;
    return ask_for_file(CHILD_ENTRY, (struct sprof_bytes){(const uint8_t *)&entry, sizeof entry});
}

static void put_entry(void *context, enum cache_kind kind, struct sprof_digest key,
                      const struct sprof_bytes *pieces, size_t count)
{
    enum { PIECES_MAX = 15 };
    const struct child_entry entry = {key, kind};
    struct sprof_bytes all[PIECES_MAX + 1] = {{(const uint8_t *)&entry, sizeof entry}};
    (void)context;
    if (count > PIECES_MAX)
        return;
    memcpy(all + 1, pieces, count * sizeof *pieces);
    pthread_mutex_lock(&exchange);
    symbolize_child_send(CHILD_SOCKET, CHILD_PUT, 0, all, count + 1, -1);
    pthread_mutex_unlock(&exchange);
}

static void send_message(void *context, enum sprof_log_level level, const char *text)
{
    const struct sprof_bytes bytes = {(const uint8_t *)text, strnlen(text, CHILD_TEXT_MAX)};
    (void)context;
    pthread_mutex_lock(&exchange);
    symbolize_child_send(CHILD_SOCKET, CHILD_LOG, level, &bytes, 1, -1);
    pthread_mutex_unlock(&exchange);
}

/* Tables with the bounds are the starter's; one question brings those of all addresses. */
static bool fetch_bounds(struct serving *serving)
{
    struct child_header header;
    int fd;
    const uint64_t bytes = serving->count * sizeof *serving->bounds;
    if (serving->bounds || serving->bounds_failed)
        return serving->bounds;
    serving->bounds = malloc(bytes + 1);
    pthread_mutex_lock(&exchange);
    if (serving->bounds && symbolize_child_send(CHILD_SOCKET, CHILD_BOUNDS, 0, NULL, 0, -1)) {
        receive(&header, &fd);
        if (header.size == bytes)
            take_all(serving->bounds, bytes);
        else
            serving->bounds_failed = true;
    }
    pthread_mutex_unlock(&exchange);
    return serving->bounds && !serving->bounds_failed;
}

static int compare(const void *left, const void *right)
{
    const uint64_t a = *(const uint64_t *)left, b = *(const uint64_t *)right;
    return (a > b) - (a < b);
}

static bool find_bounds(void *context, uint64_t vaddr, uint64_t *start, uint64_t *end)
{
    struct serving *serving = context;
    const uint64_t *found =
        bsearch(&vaddr, serving->addresses, serving->count, sizeof *serving->addresses, compare);
    if (!found || !fetch_bounds(serving))
        return false;
    const struct child_bounds *bounds = &serving->bounds[found - serving->addresses];
    *start = bounds->start;
    *end = bounds->end;
    return bounds->end != 0;
}

/* == Requests == */

static void answer(int64_t number)
{
    if (!symbolize_child_send(CHILD_SOCKET, CHILD_ANSWER, number, NULL, 0, -1))
        _exit(0);
}

/* The first request: the file, and what may be used for it. Rights end here. */
static void serve_open(struct serving *serving)
{
    static struct sprof_log log = {.message = send_message};
    char(*texts)[CHILD_PATH_MAX + 1] = serving->texts;
    struct child_header header;
    struct child_open facts;
    int fd;
    receive(&header, &fd);
    take_all(&facts, sizeof facts);
    const uint32_t sizes[] = {facts.path_bytes, facts.root_bytes, facts.directory_bytes};
    for (size_t i = 0; i < 3; i++)
        if (sizes[i] <= CHILD_PATH_MAX)
            take_all(texts[i], sizes[i]);
    if (fd < 0 || !symbolize_child_confine(facts.cpu_s, facts.memory_bytes, open_file))
        _exit(1);
    const struct cache_relay relay = {facts.salt, open_entry, put_entry, NULL};
    serving->cache = facts.has_cache ? cache_open_relay(&relay) : NULL;
    const struct symbolize_options options = {.debug_directory = sizes[2] ? texts[2] : NULL,
                                              .no_debuginfod = true,
                                              .symbols_only = facts.symbols_only,
                                              .cache = serving->cache,
                                              .threads = facts.threads,
                                              .is_child = true,
                                              .log = &log};
    int code = image_open_descriptor(&serving->image, fd, texts[0], texts[1], NULL);
    if (!code)
        code = symbolize_session_open(&serving->session, serving->image, &options, NULL);
    answer(code);
    if (code)
        _exit(1);
}

static void take_addresses(struct serving *serving, const struct child_header *header)
{
    serving->count = header->size / sizeof *serving->addresses;
    serving->addresses = malloc(header->size + 1);
    if (!serving->addresses)
        _exit(1);
    take_all(serving->addresses, header->size);
}

static void serve_ask(struct serving *serving)
{
    struct symbolize_result result;
    const struct symbolize_bounds bounds = {find_bounds, serving};
    if (symbolize_session_ask(serving->session, &result, serving->addresses, serving->count,
                              &bounds, NULL) ||
        !symbolize_child_send_result(CHILD_SOCKET, &result,
                                     symbolize_session_problem(serving->session)))
        _exit(1);
    symbolize_result_release(&result);
}

static void serve_prepare(struct serving *serving)
{
    atomic_store(&stopping, false);
    symbolize_session_prepare(serving->session, serving->addresses, serving->count, &stopping);
    answer(0);
}

static void serve(struct serving *serving)
{
    struct child_header header;
    int fd;
    receive(&header, &fd);
    switch (header.kind) {
    case CHILD_PREPARABLE: answer((int64_t)symbolize_session_preparable(serving->session)); return;
    case CHILD_CLOSE:
        symbolize_session_close(serving->session);
        answer(0);
        _exit(0);
    case CHILD_PREPARE:
        take_addresses(serving, &header);
        serve_prepare(serving);
        break;
    case CHILD_ASK:
        take_addresses(serving, &header);
        serve_ask(serving);
        break;
    default: _exit(1);
    }
    free(serving->addresses);
    free(serving->bounds);
    serving->addresses = NULL;
    serving->bounds = NULL;
    serving->bounds_failed = false;
}

static void stop(int number)
{
    (void)number;
    atomic_store(&stopping, true);
}

int symbolize_child_main(void)
{
    static struct serving serving;
    const struct sigaction action = {.sa_handler = stop, .sa_flags = SA_RESTART};
    if (sigaction(SYMBOLIZE_CHILD_STOP, &action, NULL) || !symbolize_child_drop_rights())
        return 1;
    serve_open(&serving);
    for (;;)
        serve(&serving);
}
