/* The tracing agent's table of threads, which is compiled for this as it is for the agent. */
#include "agent/probe/table.h"

#include <CUnit/CUnit.h>
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

struct probe_inside probe_inside; /* the agent's start.c has it */

enum { REGION_BYTES = 128 << 20, BLOCKS_APART = 64, GENERATION = 7, HIGH = 4, TRAP_FLAG = 0x100 };

static struct probe_shared *shared;
static uint64_t *alive;
static uint8_t *region; /* in which invented threads have their control blocks */

static void *map(size_t size)
{
    void *at = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE,
                    -1, 0);
    return at == MAP_FAILED ? NULL : at;
}

/* Where libc has the number of a thread, as the agent finds it. */
static uint32_t find_tid(void)
{
    const uint32_t tid = (uint32_t)syscall(SYS_gettid);
    for (uint32_t at = 0x100; at < 0x900; at += 4)
        if (*(const uint32_t *)(uintptr_t)(probe_thread_pointer() + at) == tid)
            return at;
    return 0;
}

static int set_up(void)
{
    shared = map(PROBE_SHARED_BYTES);
    alive = map(4096);
    region = map(REGION_BYTES);
    if (!shared || !alive || !region)
        return -1;
    shared->generation = GENERATION;
    *alive = (uint64_t)(uintptr_t)shared;
    probe_inside = (struct probe_inside){
        .alive = alive, .shared = shared, .pid = (uint32_t)getpid(), .tid_offset = find_tid()};
    return !probe_inside.tid_offset || madvise(alive, 4096, MADV_WIPEONFORK);
}

static void empty_table(void)
{
    memset(probe_table, 0, sizeof probe_table);
    probe_nobody = (struct thread){.is_shared = true};
    atomic_store(&shared->untracked, 0);
    atomic_store(&shared->sharing.has_processes, 0);
}

static struct probe_slot *slot_of(struct thread *thread)
{
    return (struct probe_slot *)thread;
}

/* As if calls of it had been measured. */
static void fill(struct thread *thread)
{
    memset(thread, 0x55, sizeof *thread);
    thread->innermost = (struct record *)PROBE_RECORDS;
    thread->is_shared = true;
    thread->has_no_clock = true;
}

/* What anybody reads of a thread that has not begun is as in one that has just been made. */
static bool is_new(const struct thread *thread)
{
    return !thread->generation && !thread->untracked_in && !atomic_load(&thread->claim) &&
           !thread->low && !thread->high && !thread->stack_mark && !thread->open_logged &&
           !thread->edge_low && !thread->edge_high && !thread->edge_floor &&
           !thread->untracked_calls && !thread->has_no_clock && !thread->is_shared &&
           (!thread->innermost || thread->innermost == &thread->root);
}

/* == Threads of this process == */

struct seen {
    struct thread *first, *again;
    uint64_t pointer;
    bool was_new;
};

static void *look_for_own(void *at)
{
    struct seen *seen = at;
    seen->pointer = probe_thread_pointer();
    seen->first = probe_own_thread();
    seen->was_new = is_new(seen->first);
    seen->again = probe_own_thread();
    fill(seen->first);
    return NULL;
}

static void test_each_thread_has_its_own(void)
{
    enum { THREADS = 40 };
    pthread_t threads[THREADS];
    struct seen seen[THREADS] = {0};
    empty_table();
    struct thread *mine = probe_own_thread();
    CU_ASSERT(is_new(mine));
    for (int i = 0; i < THREADS; i++)
        CU_ASSERT_EQUAL_FATAL(pthread_create(&threads[i], NULL, look_for_own, &seen[i]), 0);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    for (int i = 0; i < THREADS; i++) {
        CU_ASSERT(seen[i].was_new);
        CU_ASSERT_PTR_EQUAL(seen[i].first, seen[i].again);
        CU_ASSERT_PTR_NOT_EQUAL(seen[i].first, mine);
        CU_ASSERT_EQUAL(slot_of(seen[i].first)->owner.pointer, seen[i].pointer);
    }
    CU_ASSERT_PTR_EQUAL(probe_own_thread(), mine);
    CU_ASSERT(is_new(mine));
    CU_ASSERT_EQUAL(probe_address_of(probe_thread_pointer()), (uint64_t)(uintptr_t)mine);
}

/* Two threads, one after the other, on one stack, which is where libc puts their control blocks. */
static void test_slot_of_an_ended_thread(void)
{
    enum { STACK_BYTES = 1 << 20 };
    void *stack = map(STACK_BYTES);
    struct seen seen[2] = {0};
    CU_ASSERT_PTR_NOT_NULL_FATAL(stack);
    empty_table();
    for (int i = 0; i < 2; i++) {
        pthread_t thread;
        pthread_attr_t attributes;
        pthread_attr_init(&attributes);
        pthread_attr_setstack(&attributes, stack, STACK_BYTES);
        CU_ASSERT_EQUAL_FATAL(pthread_create(&thread, &attributes, look_for_own, &seen[i]), 0);
        pthread_join(thread, NULL);
        pthread_attr_destroy(&attributes);
    }
    CU_ASSERT_EQUAL(seen[0].pointer, seen[1].pointer);
    CU_ASSERT_PTR_EQUAL(seen[0].first, seen[1].first);
    CU_ASSERT(seen[1].was_new);
    munmap(stack, STACK_BYTES);
}

/* == Threads that are not there == */

static uint64_t make_thread(uint64_t pointer, uint32_t tid)
{
    *(uint32_t *)(uintptr_t)(pointer + probe_inside.tid_offset) = tid;
    return pointer;
}

/* Where the `index`th control block can be whose thread's place is that of the region's first. */
static uint64_t colliding(uint32_t index)
{
    const uint32_t place = probe_table_place((uint64_t)(uintptr_t)region, 0, PROBE_SLOTS - 1);
    uint64_t at = (uint64_t)(uintptr_t)region;
    while (probe_table_place(at, 0, PROBE_SLOTS - 1) != place || index--)
        at += BLOCKS_APART;
    CU_ASSERT_FATAL(at < (uint64_t)(uintptr_t)region + REGION_BYTES - 4096);
    return at;
}

static void test_threads_with_one_place(void)
{
    struct thread *threads[3];
    empty_table();
    for (uint32_t i = 0; i < 3; i++) {
        threads[i] = probe_find_thread(make_thread(colliding(i), 100 + i), 100 + i);
        CU_ASSERT_PTR_EQUAL(slot_of(threads[i]), slot_of(threads[0]) + i);
    }
    for (uint32_t i = 0; i < 3; i++) {
        CU_ASSERT_PTR_EQUAL(probe_find_thread(colliding(i), 100 + i), threads[i]);
        CU_ASSERT_EQUAL(probe_address_of(colliding(i)), (uint64_t)(uintptr_t)threads[i]);
    }
    fill(threads[1]);
    CU_ASSERT_PTR_EQUAL(probe_find_thread(colliding(1), 0), threads[1]); /* as it ends */
    CU_ASSERT(!is_new(threads[1]));
    CU_ASSERT_PTR_EQUAL(probe_find_thread(colliding(1), 200), threads[1]);
    CU_ASSERT(is_new(threads[1]));
    CU_ASSERT_PTR_EQUAL(probe_find_thread(colliding(3), 0), &probe_nobody);
    CU_ASSERT_EQUAL(probe_address_of(colliding(3)), 0);
}

static void test_many_threads(void)
{
    enum { THREADS = 8192 };
    static const uint64_t apart[] = {0x801000, 0x21000, 0x23000, 0x40000, 0x1000};
    for (size_t k = 0; k < sizeof apart / sizeof *apart; k++) {
        uint32_t found = 0;
        empty_table();
        for (uint64_t i = 0; i < THREADS; i++) {
            struct thread *thread =
                probe_find_thread(UINT64_C(0x7f8765432740) - i * apart[k], 1000 + (uint32_t)i);
            found += thread != &probe_nobody && !thread->serial;
            thread->serial = 1;
        }
        CU_ASSERT_EQUAL(found, THREADS);
    }
    CU_ASSERT_EQUAL(atomic_load(&shared->untracked), 0);
}

static uint32_t ended_tid(void)
{
    const pid_t child = fork();
    if (!child)
        _exit(0);
    waitpid(child, NULL, 0);
    return (uint32_t)child;
}

/* The thread is asked for as often as it takes until somebody looks for ended ones again. */
static struct thread *find_often(uint64_t pointer, uint32_t tid)
{
    struct thread *thread = &probe_nobody;
    for (int i = 0; i < 300 && thread == &probe_nobody; i++)
        thread = probe_find_thread(pointer, tid);
    return thread;
}

/* A full sequence of slots: one is another's only when its thread has ended for sure. */
static void test_no_slot_is_free(void)
{
    const uint32_t tid = (uint32_t)syscall(SYS_gettid), ended = ended_tid();
    const uint64_t pointer = colliding(PROBE_TABLE_LOOKS);
    struct thread *last = NULL;
    empty_table();
    for (uint32_t i = 0; i < PROBE_TABLE_LOOKS; i++) {
        const uint32_t its = i == PROBE_TABLE_LOOKS - 1 ? ended : tid;
        last = probe_find_thread(make_thread(colliding(i), its), its);
        CU_ASSERT_PTR_NOT_EQUAL(last, &probe_nobody);
    }
    fill(last);
    CU_ASSERT_PTR_EQUAL(find_often(pointer, tid), &probe_nobody); /* its block says it is there */
    CU_ASSERT_EQUAL(atomic_load(&shared->untracked), 1);
    make_thread(colliding(PROBE_TABLE_LOOKS - 1), 0);
    atomic_store(&shared->sharing.has_processes, 1);
    CU_ASSERT_PTR_EQUAL(find_often(pointer, tid), &probe_nobody);
    atomic_store(&shared->sharing.has_processes, 0);
    CU_ASSERT_PTR_EQUAL(find_often(pointer, tid), last);
    CU_ASSERT(is_new(last));
    CU_ASSERT_EQUAL(slot_of(last)->owner.pointer, pointer);
    CU_ASSERT_EQUAL(slot_of(last)->owner.tid, tid);
    CU_ASSERT_EQUAL(atomic_load(&shared->untracked), 1);
    CU_ASSERT_PTR_EQUAL(find_often(colliding(PROBE_TABLE_LOOKS - 1), tid), &probe_nobody);
    for (uint32_t i = 0; i < PROBE_TABLE_LOOKS; i++)
        make_thread(colliding(i), 0);
    CU_ASSERT_PTR_EQUAL(find_often(colliding(PROBE_TABLE_LOOKS - 1), tid), &probe_nobody);
}

/* Who has nothing and must not begin later keeps all others from it. */
static void test_nobody_takes_any_more(void)
{
    empty_table();
    struct thread *mine = probe_own_thread();
    probe_give_no_more(mine);
    CU_ASSERT_PTR_NOT_EQUAL(probe_find_thread(colliding(0), 100), &probe_nobody);
    probe_give_no_more(&probe_nobody);
    CU_ASSERT_PTR_EQUAL(probe_find_thread(colliding(1), 101), &probe_nobody);
    CU_ASSERT_PTR_EQUAL(probe_own_thread(), mine);
}

/* == Processes that were forked == */

/* In the child libc has given its thread another id. */
static int look_in_child(struct thread *mine, struct thread *others, uint64_t other)
{
    const uint32_t before = slot_of(mine)->owner.tid;
    if (probe_own_thread() != &probe_nobody || slot_of(mine)->owner.tid != before ||
        mine->generation != GENERATION)
        return 1; /* it is not to be measured, and takes nothing */
    probe_inside.follows_forks = 1;
    if (probe_own_thread() != mine || slot_of(mine)->owner.tid != (uint32_t)getpid() ||
        mine->generation || atomic_load(&mine->claim) || mine->is_shared)
        return 2; /* it would be led to its parent's figures */
    if (mine->low != 1 || mine->high != 2 || probe_own_thread() != mine)
        return 3;
    *alive = (uint64_t)(uintptr_t)shared;
    return probe_find_thread(other, 12345) != others || !is_new(others) ? 4 : 0;
}

static void test_forked_process(void)
{
    int status = 0;
    empty_table();
    struct thread *mine = probe_own_thread();
    const uint64_t other = make_thread(colliding(5), 100);
    struct thread *others = probe_find_thread(other, 100);
    fill(others);
    mine->generation = GENERATION;
    atomic_store(&mine->claim, (uint64_t)GENERATION << 32);
    mine->is_shared = true;
    mine->low = 1;
    mine->high = 2;
    const pid_t child = fork();
    if (!child)
        _exit(look_in_child(mine, others, other));
    CU_ASSERT_EQUAL(waitpid(child, &status, 0), child);
    CU_ASSERT(WIFEXITED(status));
    CU_ASSERT_EQUAL(WEXITSTATUS(status), 0);
    CU_ASSERT_PTR_EQUAL(probe_own_thread(), mine);
    CU_ASSERT_EQUAL(mine->generation, GENERATION);
}

/* == Signals == */

static struct {
    uint64_t pointer;
    uint32_t tid;
    long left;  /* instructions, until a handler looks for the thread itself; then, once more */
    long again; /* … so many behind that */
    bool is_bad, is_over, has_slot;
} stepping;

/* As a probe of a handler's: finds the thread, begins it where it has not begun, and then relies on
 * what it has begun with. */
static void call_in_handler(void)
{
    struct thread *thread = probe_find_thread(stepping.pointer, stepping.tid);
    if (thread == &probe_nobody)
        return;
    if (thread->generation != GENERATION) {
        thread->stats = (struct probe_stat *)1;
        thread->root.stat = 2;
        thread->ring = (struct probe_ring *)3;
        thread->innermost = &thread->root;
        if (!thread->high)
            thread->high = HIGH;
        thread->generation = GENERATION;
    }
    stepping.has_slot = true;
    stepping.is_bad |= thread->stats != (struct probe_stat *)1 || thread->root.stat != 2 ||
                       thread->ring != (struct probe_ring *)3 || thread->innermost != &thread->root;
}

static void at_instruction(int number, siginfo_t *info, void *at)
{
    ucontext_t *context = at;
    (void)number;
    (void)info;
    if (--stepping.left == 0) {
        call_in_handler();
        stepping.left = stepping.again;
        stepping.again = 0;
        if (stepping.left)
            return;
        stepping.is_over = true;
    }
    if (stepping.is_over)
        context->uc_mcontext.gregs[REG_EFL] &= ~(greg_t)TRAP_FLAG;
}

/* The kernel sends a signal after each instruction from here on. */
static void step(void)
{
    __asm__ volatile("lea -128(%%rsp), %%rsp; pushfq; orq %0, (%%rsp); popfq; lea 128(%%rsp), %%rsp"
                     :
                     : "i"(TRAP_FLAG)
                     : "memory", "cc");
}

/* A thread takes the slot of an ended one, and handlers come after `first` and `then` more
 * instructions. False: it was done before that. */
static bool take_and_be_interrupted(long first, long then)
{
    static uint32_t tid = 1000;
    stepping.pointer = colliding(0);
    struct thread *thread = probe_find_thread(stepping.pointer, tid++);
    fill(thread);
    thread->generation = GENERATION; /* it has ended during this trace */
    stepping.tid = tid++;
    stepping.left = first;
    stepping.again = then;
    stepping.is_over = false;
    step();
    struct thread *found = probe_find_thread(stepping.pointer, stepping.tid);
    const bool was_interrupted = stepping.is_over;
    stepping.is_over = true;
    __asm__ volatile("" : : : "memory"); /* the handler switches steps off */
    CU_ASSERT_PTR_EQUAL(found, thread);
    CU_ASSERT_EQUAL(slot_of(found)->owner.tid, stepping.tid);
    /* As a handler has begun it, or not begun. */
    CU_ASSERT(!found->generation || (found->generation == GENERATION && found->high == HIGH));
    CU_ASSERT(!found->is_shared && !found->has_no_clock && found->high <= HIGH);
    CU_ASSERT_PTR_EQUAL(found->innermost, &found->root);
    return was_interrupted;
}

static void test_handlers_at_each_instruction(void)
{
    struct sigaction action = {.sa_sigaction = at_instruction, .sa_flags = SA_SIGINFO}, before;
    long first = 1;
    empty_table();
    memset(&stepping, 0, sizeof stepping);
    sigaction(SIGTRAP, &action, &before);
    while (first < 10000 && take_and_be_interrupted(first, 0))
        first++;
    CU_ASSERT(first > 20 && first < 10000);
    for (long i = 1; i < first; i++)
        for (long k = 1; k <= 60; k++)
            take_and_be_interrupted(i, k);
    CU_ASSERT(stepping.has_slot && !stepping.is_bad);
    sigaction(SIGTRAP, &before, NULL);
}

void sprof_suite_agent_table(void);

void sprof_suite_agent_table(void)
{
    CU_pSuite suite = CU_add_suite("agent/table", set_up, NULL);
    CU_ADD_TEST(suite, test_each_thread_has_its_own);
    CU_ADD_TEST(suite, test_slot_of_an_ended_thread);
    CU_ADD_TEST(suite, test_threads_with_one_place);
    CU_ADD_TEST(suite, test_many_threads);
    CU_ADD_TEST(suite, test_no_slot_is_free);
    CU_ADD_TEST(suite, test_nobody_takes_any_more);
    CU_ADD_TEST(suite, test_forked_process);
    CU_ADD_TEST(suite, test_handlers_at_each_instruction);
}
