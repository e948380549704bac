/* The first words with an agent, and the memory that is shared with it. The test answers for it. */
#include "probing/outside.h"
#include "tests/unit/trace/made.h"
#include "trace/handshake.h"
#include "trace/requests.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>

static const struct probe_backend in_memory = {
    .source = "in memory", .has_agent = true, .needs_lease = true, .ask = trace_ask};
static const struct probe_backend embedded = {
    .source = "in memory", .has_agent = true, .only_embedded = true, .ask = trace_ask};

enum { FUNCTIONS = 3, SHARED_AT = 0x7000 };

static struct made made;
static struct plan_function functions[FUNCTIONS];
static char *command[] = {"sleep", "100", NULL};
static struct sprof_error error;
static int agent; /* its end of the socket pair; -1: closed */

static void begin(const struct probe_backend *backend)
{
    int ends[2];
    made_begin_with(&made, backend, functions, FUNCTIONS);
    CU_ASSERT_EQUAL_FATAL(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends), 0);
    made.session.process.agent_fd = ends[0];
    agent = ends[1];
    made.session.options.command = command;
    made.session.options.output = "/tmp/made.db";
    error = (struct sprof_error){0};
}

static void close_agent(void)
{
    if (agent >= 0)
        close(agent);
    agent = -1;
}

static void end(void)
{
    close_agent();
    close(made.session.process.agent_fd);
    probing_outside_free(&made.session.probing);
    made_end(&made);
}

/* == Hello == */

/* A command without an agent, which runs until the test ends it. */
static void begin_with_command(void)
{
    const struct target_options options = {.command = command};
    begin(&in_memory);
    CU_ASSERT_EQUAL_FATAL(target_open(&made.trace.target, &options, &error), 0);
    CU_ASSERT_EQUAL_FATAL(target_start(made.trace.target, &error), 0);
}

static void end_with_command(void)
{
    const pid_t pid = target_command(made.trace.target);
    if (!target_ended(made.trace.target, NULL)) {
        kill(pid, SIGKILL);
        waitpid(pid, NULL, 0);
    }
    target_free(made.trace.target);
    end();
}

static int say(const void *hello, size_t size)
{
    CU_ASSERT_EQUAL(send(agent, hello, size, MSG_NOSIGNAL), (ssize_t)size);
    return trace_handshake(&made.session, &error);
}

static void test_hello(void)
{
    struct probe_hello hello = {
        .magic = PROBE_MAGIC, .version = PROBE_VERSION, .thunks = 0x1000, .nothing = 0x2000};
    begin_with_command();
    CU_ASSERT_EQUAL(say(&hello, sizeof hello), 0);
    CU_ASSERT_EQUAL(made.session.process.hello.nothing, 0x2000);
    hello.version++;
    CU_ASSERT_EQUAL(say(&hello, sizeof hello), SPROF_EUNSUPPORTED);
    CU_ASSERT_PTR_NOT_NULL(strstr(error.message, "another version"));
    hello.version--;
    hello.window_error = EEXIST;
    CU_ASSERT_EQUAL(say(&hello, sizeof hello), SPROF_EUNSUPPORTED);
    CU_ASSERT_PTR_NOT_NULL(strstr(error.message, "memory of its own"));
    CU_ASSERT_EQUAL(say(&hello, sizeof hello - 1), SPROF_EUNSUPPORTED); /* cut off */
    CU_ASSERT_PTR_NOT_NULL(strstr(error.message, "without the tracing agent"));
    end_with_command();
}

static void test_agent_is_gone(void)
{
    begin_with_command();
    close_agent();
    CU_ASSERT_EQUAL(trace_handshake(&made.session, &error), SPROF_EUNSUPPORTED);
    CU_ASSERT_PTR_NOT_NULL(strstr(error.message, "sleep was not traced"));
    end_with_command();
}

/* The end of the command wakes the wait for its agent. */
static void test_command_ends(void)
{
    begin_with_command();
    CU_ASSERT_EQUAL(kill(target_command(made.trace.target), SIGKILL), 0);
    CU_ASSERT_EQUAL(trace_handshake(&made.session, &error), SPROF_EUNSUPPORTED);
    CU_ASSERT_PTR_NOT_NULL(strstr(error.message, "sleep was not traced"));
    end_with_command();
}

static void test_send_off(void)
{
    struct probe_request request;
    begin(&in_memory);
    CU_ASSERT_EQUAL(trace_send_off(&made.session, &error), 0);
    CU_ASSERT_EQUAL(recv(agent, &request, sizeof request, 0), sizeof request);
    CU_ASSERT_EQUAL(request.kind, PROBE_GO);
    close_agent();
    CU_ASSERT_EQUAL(trace_send_off(&made.session, &error), SPROF_EUNSUPPORTED);
    made.session.options.command = NULL; /* of a process, its file is named */
    made.session.executable.path = "/app/program";
    CU_ASSERT_EQUAL(trace_send_off(&made.session, &error), SPROF_EUNSUPPORTED);
    CU_ASSERT_PTR_NOT_NULL(strstr(error.message, "/app/program was not traced"));
    end();
}

/* == Requests == */

static void test_requests(void)
{
    const struct probe_answer answer = {.result = 42};
    struct probe_request request;
    begin(&in_memory);
    made.session.process.memory_there = 7;
    CU_ASSERT_EQUAL(send(agent, &answer, sizeof answer, 0), sizeof answer);
    CU_ASSERT_EQUAL(trace_ask(&made.session.probing, PROBE_MAP_ISLAND, 0x5000, 64, -1), 42);
    CU_ASSERT_EQUAL(recv(agent, &request, sizeof request, 0), sizeof request);
    CU_ASSERT_EQUAL(request.kind, PROBE_MAP_ISLAND);
    CU_ASSERT_EQUAL(request.address, 0x5000);
    CU_ASSERT_EQUAL(request.size, 64);
    CU_ASSERT_EQUAL(request.fd, 7);
    CU_ASSERT_EQUAL(send(agent, &answer, sizeof answer - 1, 0), sizeof answer - 1);
    CU_ASSERT_EQUAL(trace_ask(&made.session.probing, PROBE_UNMAP, 0, 0, -1), -EPIPE);
    close_agent();
    CU_ASSERT_EQUAL(trace_ask(&made.session.probing, PROBE_UNMAP, 0, 0, -1), -EPIPE);
    end();
}

/* == Memory == */

/* The agent's answer to the request for a mapping. The session's memory of before is given up. */
static int share(int64_t result)
{
    const struct probe_answer answer = {.result = result};
    munmap(made.session.process.shared, made.session.process.shared_bytes);
    close(made.session.process.memory_fd);
    made.session.process.shared = NULL;
    CU_ASSERT_EQUAL(send(agent, &answer, sizeof answer, MSG_NOSIGNAL), sizeof answer);
    return trace_share_memory(&made.session, &error);
}

static void test_memory(void)
{
    struct probe_request request;
    char here;
    begin(&in_memory);
    made.session.probes.items[1].tier = PROBE_COUNT;
    made.trace.known_cost.whole = 33;
    CU_ASSERT_EQUAL_FATAL(share(SHARED_AT), 0);
    const struct probe_shared *shared = made.session.process.shared;
    const uint64_t bytes = made.session.process.shared_bytes;
    CU_ASSERT_EQUAL(recv(agent, &request, sizeof request, 0), sizeof request);
    CU_ASSERT_EQUAL(request.kind, PROBE_MAP_SHARED);
    CU_ASSERT_EQUAL(request.size, bytes);
    CU_ASSERT_EQUAL(made.session.process.shared_at, SHARED_AT);
    CU_ASSERT_EQUAL(shared->function_count, PROBE_THUNKS - 1); /* room for later libraries */
    CU_ASSERT_EQUAL(shared->slab_bytes, probe_slab_bytes(PROBE_THUNKS - 1));
    CU_ASSERT_EQUAL(probe_shared_bytes(shared->slab_count, shared->slab_bytes), bytes);
    CU_ASSERT_EQUAL(shared->histograms & (shared->histograms + 1), 0); /* a mask */
    CU_ASSERT(shared->histograms >= shared->slab_bytes);
    CU_ASSERT_EQUAL(shared->cleared, PROBE_CLEARED_NOTHING);
    CU_ASSERT_EQUAL(shared->main_tid, (uint32_t)getpid());
    CU_ASSERT_EQUAL(shared->follows_forks, 0);
    CU_ASSERT_EQUAL(shared->cost.whole, 33);
    CU_ASSERT_EQUAL(made_tier(&made, 0), PROBE_FULL);
    CU_ASSERT_EQUAL(made_tier(&made, 1), PROBE_COUNT);
    CU_ASSERT_EQUAL(shared->owner.pid, (uint32_t)getpid());
    CU_ASSERT_STRING_EQUAL(shared->owner.output, "/tmp/made.db");
    CU_ASSERT((uintptr_t)&here > shared->stacks.low && (uintptr_t)&here < shared->stacks.high);
    CU_ASSERT(shared->stack_end < (uintptr_t)&here);
    CU_ASSERT_EQUAL(ftruncate(made.session.process.memory_fd, (off_t)bytes - 1), -1); /* sealed */
    CU_ASSERT_EQUAL(errno, EPERM);
    end();
}

/* Programs of a command's children are many: each has less room. */
static void test_memory_of_children(void)
{
    begin(&in_memory);
    made.session.options.children = true;
    CU_ASSERT_EQUAL_FATAL(share(SHARED_AT), 0);
    CU_ASSERT_TRUE(made.session.process.shared->follows_forks == 1);
    CU_ASSERT_EQUAL(made.session.capacity, FUNCTIONS + 16384);
    CU_ASSERT(made.session.process.shared_bytes <
              (UINT64_C(64) << 30) + probe_shared_bytes(made.session.slab_count, 0));
    end();
}

/* The thunks of a listening process are numbered before. */
static void test_memory_of_thunks(void)
{
    begin(&embedded);
    made.session.capacity = 4;
    CU_ASSERT_EQUAL_FATAL(share(SHARED_AT), 0);
    CU_ASSERT_EQUAL(made.session.capacity, 4);
    CU_ASSERT_EQUAL(made.session.slab_count, PROBE_SLABS);
    end();
}

static void test_memory_is_refused(void)
{
    static const struct {
        int errnum;
        const char *reason, *cure;
    } cases[] = {{EBADF, "no descriptor free", "ulimit -n"}, {ENOMEM, "", "ulimit -v"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        begin(&in_memory);
        CU_ASSERT_EQUAL(share(-cases[i].errnum), SPROF_ELIMIT);
        CU_ASSERT_EQUAL(error.errnum, cases[i].errnum);
        CU_ASSERT_PTR_NOT_NULL(strstr(error.message, cases[i].reason));
        CU_ASSERT_PTR_NOT_NULL(strstr(error.message, cases[i].cure));
        CU_ASSERT_EQUAL(made.session.process.shared_at, 0);
        end();
    }
}

static void test_too_many_functions(void)
{
    begin(&in_memory);
    made.session.probes.count = PROBE_THUNKS;
    CU_ASSERT_EQUAL(trace_share_memory(&made.session, &error), SPROF_ELIMIT);
    CU_ASSERT_PTR_NOT_NULL(strstr(error.message, "choose with --function or --module"));
    made.session.probes.count = FUNCTIONS;
    end();
}

void sprof_suite_trace_handshake(void);
void sprof_suite_trace_handshake(void)
{
    CU_pSuite suite = CU_add_suite("trace/handshake", NULL, NULL);
    CU_add_test(suite, "hello", test_hello);
    CU_add_test(suite, "the agent is gone", test_agent_is_gone);
    CU_add_test(suite, "the command ends", test_command_ends);
    CU_add_test(suite, "send off", test_send_off);
    CU_add_test(suite, "requests", test_requests);
    CU_add_test(suite, "memory", test_memory);
    CU_add_test(suite, "memory with children", test_memory_of_children);
    CU_add_test(suite, "memory of numbered thunks", test_memory_of_thunks);
    CU_add_test(suite, "memory is refused", test_memory_is_refused);
    CU_add_test(suite, "too many functions", test_too_many_functions);
}
