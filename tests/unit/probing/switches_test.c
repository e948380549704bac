/* Bytes that switch embedded probes, and thunks that earlier traces have left, in a file that
 * stands for a process's memory. */
#include "probing/probing.h"
#include "tests/unit/probing/made.h"

static const struct probing_way embedded = {.has_agent = true, .only_embedded = true};

enum { FUNCTIONS = 3, SITE = 0x100, THUNKS = 0x4000, DISPLACED = 5, NOTHING = 0x77 };

struct listening {
    struct made made;
    struct plan_function functions[FUNCTIONS];
    uint8_t memory[THUNKS + 1024 * ARCH_THUNK_BYTES];
    struct sprof_error error;
};

static void make(struct listening *listening)
{
    static const char *const names[] = {"one", "two", "three"};
    made_begin(&listening->made, &embedded, FUNCTIONS);
    struct probing_program *session = &listening->made.session;
    memset(listening->memory, 0, THUNKS);
    memset(listening->memory + THUNKS, ARCH_FILL, sizeof listening->memory - THUNKS);
    for (size_t i = 0; i < FUNCTIONS; i++)
        listening->functions[i] = (struct plan_function){.name = names[i],
                                                         .start = SITE * (i + 1),
                                                         .site = SITE * (i + 1),
                                                         .displaced = DISPLACED,
                                                         .mechanism = PLAN_EMBEDDED,
                                                         .original = {PLAN_EMBEDDED_OFF, 0x40}};
    made_file(&listening->made, "/app/program", 0, listening->functions, FUNCTIONS);
    for (size_t i = 0; i < FUNCTIONS; i++)
        made_probe(&listening->made, (struct probing_probe){.function = &listening->functions[i],
                                                            .tier = PROBE_FULL,
                                                            .is_chosen = true});
    session->process.hello.thunks = THUNKS;
    session->process.hello.nothing = NOTHING;
    session->process.code_fd = memfd_create("code", MFD_CLOEXEC);
}

/* An earlier trace has left this thunk of a body. */
static void leave_thunk(struct listening *listening, uint32_t place, uint64_t body)
{
    uint8_t *thunk = listening->memory + THUNKS + place * ARCH_THUNK_BYTES;
    memset(thunk, 0, ARCH_THUNK_BYTES);
    memcpy(thunk + ARCH_THUNK_BODY, &body, sizeof body);
}

static void write_memory(const struct listening *listening)
{
    CU_ASSERT_EQUAL_FATAL(pwrite(listening->made.session.process.code_fd, listening->memory,
                                 sizeof listening->memory, 0),
                          sizeof listening->memory);
}

static void read_memory(struct listening *listening)
{
    CU_ASSERT_EQUAL_FATAL(pread(listening->made.session.process.code_fd, listening->memory,
                                sizeof listening->memory, 0),
                          sizeof listening->memory);
}

static void end(struct listening *listening)
{
    close(listening->made.session.process.code_fd);
    made_end(&listening->made);
}

/* A thread may still be on its way to a thunk of before: it belongs to its function for good. */
static void test_numbers(void)
{
    static struct listening listening;
    make(&listening);
    const struct probing_program *session = &listening.made.session;
    leave_thunk(&listening, 0, SITE * 9 + DISPLACED); /* of a function that is not chosen now */
    leave_thunk(&listening, 1, NOTHING);              /* has calibrated: free again */
    leave_thunk(&listening, 2, SITE * 2 + DISPLACED); /* two's */
    write_memory(&listening);
    CU_ASSERT_EQUAL(probing_switches_number(&listening.made.session, &listening.error), 0);
    CU_ASSERT_EQUAL(session->probes.items[0].thunk, 1);
    CU_ASSERT_EQUAL(session->probes.items[1].thunk, 2);
    CU_ASSERT_EQUAL(session->probes.items[2].thunk, 3);
    CU_ASSERT_EQUAL(session->capacity, 4);
    end(&listening);
}

static void test_first_trace(void)
{
    static struct listening listening;
    make(&listening);
    write_memory(&listening);
    CU_ASSERT_EQUAL(probing_switches_number(&listening.made.session, &listening.error), 0);
    for (uint32_t i = 0; i < FUNCTIONS; i++)
        CU_ASSERT_EQUAL(listening.made.session.probes.items[i].thunk, i);
    CU_ASSERT_EQUAL(listening.made.session.capacity, FUNCTIONS);
    end(&listening);
}

/* The switch's distance leads to a far jump, whose target is written while the switch is off. */
static void test_aim(void)
{
    enum { THUNK = 0x1122334455667788, DISTANCE = 0x40 };
    static struct listening listening;
    uint8_t jump[PLAN_JUMP_BYTES];
    uint64_t target;
    make(&listening);
    write_memory(&listening);
    CU_ASSERT_EQUAL(probing_switches_aim(&listening.made.session, SITE, &listening.functions[0],
                                         THUNK, jump, &listening.error),
                    0);
    read_memory(&listening);
    memcpy(&target, listening.memory + SITE + PLAN_JUMP_BYTES + DISTANCE + ARCH_FAR_JUMP_BYTES - 8,
           sizeof target);
    CU_ASSERT_EQUAL(target, THUNK);
    CU_ASSERT_EQUAL(jump[0], ARCH_JUMP);
    CU_ASSERT_EQUAL(memcmp(jump + 1, listening.functions[0].original + 1, sizeof jump - 1), 0);
    close(listening.made.session.process.code_fd);
    listening.made.session.process.code_fd = -1;
    CU_ASSERT_EQUAL(probing_switches_aim(&listening.made.session, SITE, &listening.functions[0],
                                         THUNK, jump, &listening.error),
                    SPROF_EPERMISSION);
    made_end(&listening.made);
}

/* Probes of another byte than ours are left alone, as are those that were never placed. */
static void test_leave(void)
{
    static struct listening listening;
    make(&listening);
    struct probing_program *session = &listening.made.session;
    session->probes.items[0].is_placed = session->probes.items[1].is_placed = true;
    listening.memory[SITE] = listening.memory[3 * SITE] = ARCH_JUMP;
    listening.memory[2 * SITE] = 0x90;
    write_memory(&listening);
    probing_switch(session);
    probing_switches_leave(session);
    read_memory(&listening);
    CU_ASSERT_EQUAL(listening.memory[SITE], PLAN_EMBEDDED_OFF);
    CU_ASSERT_EQUAL(listening.memory[2 * SITE], 0x90);
    CU_ASSERT_EQUAL(listening.memory[3 * SITE], ARCH_JUMP);
    CU_ASSERT_TRUE(session->is_out);
    CU_ASSERT_FALSE(session->probes.items[0].is_placed);
    for (size_t i = 0; i < FUNCTIONS; i++)
        CU_ASSERT_EQUAL(made_tier(&listening.made, i), PROBE_OFF);
    end(&listening);
}

/* A probe that is off for two looks leads past the agent by one byte of its thunk. */
static void test_passed(void)
{
    static struct listening listening;
    make(&listening);
    struct probing_program *session = &listening.made.session;
    struct probing_probe *probe = &session->probes.items[0];
    const uint64_t entry = THUNKS + ARCH_THUNK_ENTRY;
    probe->is_placed = true;
    leave_thunk(&listening, 0, SITE + DISPLACED);
    listening.memory[entry] = ARCH_THUNK_ON;
    write_memory(&listening);
    probing_passed_refresh(session);
    CU_ASSERT_FALSE(probe->is_passed);
    probing_passed_refresh(session);
    CU_ASSERT_TRUE(probe->is_passed);
    read_memory(&listening);
    CU_ASSERT_EQUAL(listening.memory[entry], ARCH_THUNK_OFF);
    probing_passed_end(session, 0);
    CU_ASSERT_FALSE(probe->is_passed);
    read_memory(&listening);
    CU_ASSERT_EQUAL(listening.memory[entry], ARCH_THUNK_ON);
    end(&listening);
}

/* Where one byte of the jump tells both targets apart, that one is turned. */
static void test_passed_by_jump(void)
{
    static struct listening listening;
    make(&listening);
    struct probing_program *session = &listening.made.session;
    struct probing_probe *probe = &session->probes.items[0];
    const uint8_t jump[PLAN_JUMP_BYTES] = {ARCH_JUMP, 0x10, 0x20, 0, 0};
    const uint64_t near_body = SITE + PLAN_JUMP_BYTES + 0x2030, far_body = near_body + 0x10000;
    memcpy(probe->jump, jump, sizeof jump);
    probe->is_placed = true;
    probing_passed_note(session, probe, near_body);
    CU_ASSERT_EQUAL(probe->pass_at, 0); /* the file may be unloaded */
    session->files.items[0].stays = true;
    probing_passed_note(session, probe, far_body);
    CU_ASSERT_EQUAL(probe->pass_at, 0); /* two bytes differ */
    probing_passed_note(session, probe, near_body);
    CU_ASSERT_EQUAL(probe->pass_at, 1);
    CU_ASSERT_EQUAL(probe->pass_byte, 0x30);
    memcpy(listening.memory + SITE, jump, sizeof jump);
    write_memory(&listening);
    probing_passed_refresh(session);
    probing_passed_refresh(session);
    read_memory(&listening);
    CU_ASSERT_TRUE(probe->is_passed);
    CU_ASSERT_EQUAL(listening.memory[SITE + 1], 0x30);
    CU_ASSERT_EQUAL(probe->jump[1], 0x30); /* which is the jump that is there now */
    probing_passed_end(session, 0);
    read_memory(&listening);
    CU_ASSERT_EQUAL(memcmp(listening.memory + SITE, jump, sizeof jump), 0);
    listening.memory[SITE] = 0xcc; /* not ours any more */
    write_memory(&listening);
    probing_passed_refresh(session);
    probing_passed_refresh(session);
    CU_ASSERT_FALSE(probe->is_passed);
    end(&listening);
}

void sprof_suite_probing_switches(void);

void sprof_suite_probing_switches(void)
{
    CU_pSuite suite = CU_add_suite("probing/switches", NULL, NULL);
    CU_add_test(suite, "numbers of thunks", test_numbers);
    CU_add_test(suite, "the first trace", test_first_trace);
    CU_add_test(suite, "where a switch leads", test_aim);
    CU_add_test(suite, "the end", test_leave);
    CU_add_test(suite, "a thunk that is passed", test_passed);
    CU_add_test(suite, "a jump that passes its thunk", test_passed_by_jump);
}
