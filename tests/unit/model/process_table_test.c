#include "model/process_table.h"

#include <CUnit/CUnit.h>
#include <string.h>

static void test_a_fork_takes_name_and_parent(void)
{
    struct model_process_table table = {0};
    CU_ASSERT_EQUAL(model_process_table_comm(&table, 10, 10, "shell", true, 1), 0);
    CU_ASSERT_EQUAL(model_process_table_fork(&table, 10, 10, 11, 11, 2), 0);
    CU_ASSERT_EQUAL(model_process_table_fork(&table, 11, 11, 11, 12, 3), 0);
    const struct model_process *child = model_process_table_process(&table, 11, 4);
    CU_ASSERT_EQUAL(child->parent, model_process_table_process(&table, 10, 4)->id);
    CU_ASSERT_STRING_EQUAL(child->name, "shell");
    const struct model_thread *thread = model_process_table_thread(&table, 11, 12, 4);
    CU_ASSERT_EQUAL(thread->process, child->id);
    CU_ASSERT_STRING_EQUAL(thread->name, "shell");
    CU_ASSERT_EQUAL(table.processes.count, 2);
    CU_ASSERT_EQUAL(table.threads.count, 3);
    model_process_table_release(&table);
}

static void test_only_the_main_thread_names_the_process(void)
{
    struct model_process_table table = {0};
    model_process_table_comm(&table, 10, 10, "server", false, 1);
    model_process_table_fork(&table, 10, 10, 10, 11, 2);
    model_process_table_comm(&table, 10, 11, "worker", false, 3);
    CU_ASSERT_STRING_EQUAL(model_process_table_process(&table, 10, 4)->name, "server");
    CU_ASSERT_STRING_EQUAL(model_process_table_thread(&table, 10, 11, 4)->name, "worker");
    model_process_table_release(&table);
}

static void test_a_mention_before_the_fork_is_the_same_one(void)
{
    struct model_process_table table = {.first_process = 5, .first_thread = 7};
    model_process_table_comm(&table, 10, 10, "shell", true, 1);
    const struct model_thread *early = model_process_table_thread(&table, 11, 11, 6);
    CU_ASSERT_EQUAL(early->id, 9);
    model_process_table_fork(&table, 10, 10, 11, 11, 5);
    CU_ASSERT_PTR_EQUAL(model_process_table_thread(&table, 11, 11, 7), early);
    CU_ASSERT_EQUAL(early->start_ns, 5);
    CU_ASSERT_STRING_EQUAL(early->name, "shell");
    CU_ASSERT_EQUAL(table.processes.count, 2);
    CU_ASSERT_EQUAL(model_process_table_process(&table, 11, 7)->start_ns, 5);
    model_process_table_release(&table);
}

static void test_a_fork_learned_after_the_parents_end(void)
{
    const uint64_t late_ns = 1000000000;
    struct model_process_table table = {0};
    model_process_table_comm(&table, 10, 10, "shell", true, 1);
    model_process_table_exit(&table, 10, 10, 2);
    const struct model_process *parent = model_process_table_process(&table, 10, 2);
    CU_ASSERT_EQUAL(model_process_table_fork(&table, 10, 0, 11, 11, late_ns), 0);
    const struct model_process *child = model_process_table_process(&table, 11, late_ns);
    CU_ASSERT_EQUAL(table.processes.count, 2);
    CU_ASSERT_EQUAL(child->parent, parent->id);
    CU_ASSERT_STRING_EQUAL(child->name, "shell");
    CU_ASSERT_EQUAL(parent->end_ns, 2);
    /* A thread that forks is alive: its number was given again. */
    CU_ASSERT_EQUAL(model_process_table_fork(&table, 10, 10, 12, 12, late_ns), 0);
    CU_ASSERT_EQUAL(table.processes.count, 4);
    model_process_table_release(&table);
}

static void test_parents_make_no_circle(void)
{
    struct model_process_table table = {0};
    CU_ASSERT_EQUAL(model_process_table_fork(&table, 10, 10, 11, 11, 1), 0);
    CU_ASSERT_EQUAL(model_process_table_fork(&table, 11, 11, 12, 12, 2), 0);
    const struct model_process *mentioned = model_process_table_process(&table, 10, 2);
    CU_ASSERT_EQUAL(model_process_table_fork(&table, 12, 12, 10, 10, 3), 0);
    const struct model_process *child = model_process_table_process(&table, 10, 4);
    CU_ASSERT_PTR_NOT_EQUAL(child, mentioned);
    CU_ASSERT_EQUAL(child->parent, model_process_table_process(&table, 12, 4)->id);
    CU_ASSERT_EQUAL(mentioned->parent, 0);
    CU_ASSERT_EQUAL(mentioned->end_ns, 3);
    model_process_table_release(&table);
}

static void test_a_process_goes_on_as_another_one(void)
{
    struct model_process_table table = {0};
    const struct sprof_file_id file = {.path = "/bin/sh"};
    model_process_table_comm(&table, 10, 10, "shell", true, 1);
    model_process_table_fork(&table, 10, 10, 11, 11, 2);
    CU_ASSERT_EQUAL(model_process_table_map(&table, 11, 0x1000, 0x1000, 0, &file, 3), 0);
    const struct model_thread *first = model_process_table_thread(&table, 11, 11, 3);
    CU_ASSERT_EQUAL(model_process_table_replace(&table, 11, 4), 0);
    const struct model_process *process = model_process_table_process(&table, 11, 5);
    CU_ASSERT_NOT_EQUAL(process->id, first->process);
    CU_ASSERT_EQUAL(process->parent, model_process_table_process(&table, 10, 5)->id);
    CU_ASSERT_STRING_EQUAL(process->name, "shell");
    CU_ASSERT_EQUAL(table.processes.items[first->process - 1]->end_ns, 4);
    CU_ASSERT_EQUAL(process->end_ns, 0);
    CU_ASSERT_PTR_NULL(model_process_table_find(&table, process, 0x1800, 0));
    const struct model_thread *second = model_process_table_thread(&table, 11, 11, 6);
    CU_ASSERT_PTR_NOT_EQUAL(second, first);
    CU_ASSERT_EQUAL(second->process, process->id);
    CU_ASSERT_EQUAL(process->end_ns, 0);
    model_process_table_release(&table);
}

static void test_a_number_used_again_ends_its_bearer(void)
{
    struct model_process_table table = {0};
    model_process_table_comm(&table, 10, 10, "shell", true, 1);
    model_process_table_fork(&table, 10, 10, 11, 11, 2);
    struct model_thread *first = model_process_table_thread(&table, 11, 11, 3);
    model_process_table_fork(&table, 10, 10, 11, 11, 9); /* the EXIT in between was lost */
    struct model_thread *second = model_process_table_thread(&table, 11, 11, 10);
    CU_ASSERT_NOT_EQUAL(first->process, second->process);
    CU_ASSERT_EQUAL(first->end_ns, 9);
    CU_ASSERT_EQUAL(table.processes.items[first->process - 1]->end_ns, 9);
    CU_ASSERT_EQUAL(second->end_ns, 0);
    model_process_table_release(&table);
}

static void test_a_tid_that_moves_to_another_process(void)
{
    struct model_process_table table = {0};
    const struct model_thread *first = model_process_table_thread(&table, 10, 12, 1);
    const struct model_thread *second = model_process_table_thread(&table, 20, 12, 5);
    CU_ASSERT_NOT_EQUAL(first->id, second->id);
    CU_ASSERT_EQUAL(first->end_ns, 5);
    CU_ASSERT_EQUAL(table.processes.items[first->process - 1]->end_ns, 5);
    model_process_table_release(&table);
}

static void test_a_process_ends_with_its_last_thread(void)
{
    struct model_process_table table = {0};
    model_process_table_comm(&table, 10, 10, "main", true, 1);
    model_process_table_fork(&table, 10, 10, 10, 11, 2);
    const struct model_process *process = model_process_table_process(&table, 10, 2);
    model_process_table_exit(&table, 10, 10, 3);
    CU_ASSERT_EQUAL(process->end_ns, 0);
    model_process_table_exit(&table, 10, 11, 4);
    CU_ASSERT_EQUAL(process->end_ns, 4);
    model_process_table_exit(&table, 10, 11, 4); /* told twice */
    CU_ASSERT_EQUAL(process->end_ns, 4);
    model_process_table_release(&table);
}

static void test_cpu_time_and_samples_after_the_exit(void)
{
    const uint64_t second = 1000 * 1000 * 1000;
    struct model_process_table table = {0};
    model_process_table_comm(&table, 10, 10, "main", true, 1);
    model_process_table_exit(&table, 10, 10, 3);
    CU_ASSERT_EQUAL(model_process_table_cpu_time(&table, 10, 10, 77, 3), 0);
    CU_ASSERT_EQUAL(table.threads.items[0]->cpu_time_ns, 77);
    CU_ASSERT_PTR_EQUAL(model_process_table_thread(&table, 10, 10, 4), table.threads.items[0]);
    CU_ASSERT_EQUAL(table.threads.count, 1);
    const struct model_thread *later = model_process_table_thread(&table, 10, 10, 5 * second);
    CU_ASSERT_EQUAL(later->id, 2);
    CU_ASSERT_EQUAL(table.processes.count, 2);
    model_process_table_release(&table);
}

static void test_a_hundred_thousand_children(void)
{
    enum { CHILDREN = 100000, MAPPINGS = 20 };
    const struct sprof_file_id file = {.path = "/bin/prog", .inode = 5};
    struct model_process_table table = {0};
    model_process_table_comm(&table, 1, 1, "prog", true, 1);
    for (uint64_t i = 0; i < MAPPINGS; i++)
        model_process_table_map(&table, 1, 0x1000 + i * 0x2000, 0x1000, 0, &file, 1);
    for (int i = 0; i < CHILDREN; i++) {
        model_process_table_fork(&table, 1, 1, i + 2, i + 2, (uint64_t)i + 2);
        model_process_table_exit(&table, i + 2, i + 2, (uint64_t)i + 3);
    }
    CU_ASSERT_EQUAL(table.processes.count, CHILDREN + 1);
    CU_ASSERT_EQUAL(table.mappings.rows.count, MAPPINGS);
    for (size_t i = 1; i < table.processes.count; i++)
        CU_ASSERT_EQUAL_FATAL(table.processes.items[i]->space.mapped.capacity, 0);
    model_process_table_release(&table);
}

/* What was sampled before an exec is the program's that ran then. */
static void test_an_exec_of_a_sampled_process_is_another_row(void)
{
    struct model_process_table table = {0};
    model_process_table_comm(&table, 10, 10, "first", true, 1);
    struct model_process *first = model_process_table_process(&table, 10, 2);
    struct model_thread *before = model_process_table_thread(&table, 10, 10, 2);
    first->sampled = true;
    before->sampled_weight = 30;
    model_process_table_comm(&table, 10, 10, "second", true, 5);
    const struct model_process *second = model_process_table_process(&table, 10, 6);
    const struct model_thread *after = model_process_table_thread(&table, 10, 10, 6);
    CU_ASSERT_EQUAL(table.processes.count, 2);
    CU_ASSERT_STRING_EQUAL(first->name, "first");
    CU_ASSERT_EQUAL(first->end_ns, 5);
    CU_ASSERT_STRING_EQUAL(before->name, "first");
    CU_ASSERT_EQUAL(before->end_ns, 5);
    CU_ASSERT_STRING_EQUAL(second->name, "second");
    CU_ASSERT_EQUAL(after->process, second->id);
    CU_ASSERT_EQUAL(after->former, before->id);
    CU_ASSERT_TRUE(second->exec_seen);
    model_process_table_cpu_time(&table, 10, 10, 100, 7);
    CU_ASSERT_EQUAL(model_process_table_own_cpu_ns(&table, after, true), 70);
    CU_ASSERT_EQUAL(model_process_table_own_cpu_ns(&table, after, false), 100);
    CU_ASSERT_EQUAL(model_process_table_own_cpu_ns(&table, before, true), 0);
    model_process_table_release(&table);
}

static void test_an_exec_without_samples_before_goes_on(void)
{
    struct model_process_table table = {0};
    model_process_table_comm(&table, 10, 10, "shell", true, 1);
    model_process_table_fork(&table, 10, 10, 11, 11, 2);
    model_process_table_comm(&table, 11, 11, "ls", true, 3);
    CU_ASSERT_EQUAL(table.processes.count, 2);
    CU_ASSERT_EQUAL(table.threads.count, 2);
    CU_ASSERT_STRING_EQUAL(model_process_table_process(&table, 11, 4)->name, "ls");
    model_process_table_release(&table);
}

/* The kernel ends the other threads first, the main one, too, whose number the caller gets. */
static void test_an_exec_by_another_thread(void)
{
    for (int sampled = 0; sampled < 2; sampled++) {
        struct model_process_table table = {0};
        model_process_table_comm(&table, 10, 10, "first", true, 1);
        model_process_table_fork(&table, 10, 10, 10, 11, 2);
        struct model_process *first = model_process_table_process(&table, 10, 2);
        const struct model_thread *caller = model_process_table_thread(&table, 10, 11, 2);
        first->sampled = sampled;
        model_process_table_exit(&table, 10, 10, 3);
        model_process_table_comm(&table, 10, 10, "second", true, 4);
        const struct model_process *process = model_process_table_process(&table, 10, 1000000000);
        const struct model_thread *thread = model_process_table_thread(&table, 10, 10, 1000000000);
        CU_ASSERT_EQUAL(table.processes.count, 1 + (size_t)sampled);
        CU_ASSERT_EQUAL(table.threads.count, 3);
        CU_ASSERT_STRING_EQUAL(process->name, "second");
        CU_ASSERT_EQUAL(process->end_ns, 0);
        CU_ASSERT_STRING_EQUAL(thread->name, "second");
        CU_ASSERT_EQUAL(thread->process, process->id);
        CU_ASSERT_EQUAL(thread->former, caller->id);
        CU_ASSERT_EQUAL(caller->end_ns, 4);
        model_process_table_release(&table);
    }
}

void sprof_suite_model_process_table(void);
void sprof_suite_model_process_table(void)
{
    CU_pSuite suite = CU_add_suite("model/process_table", NULL, NULL);
    CU_add_test(suite, "a fork takes name and parent", test_a_fork_takes_name_and_parent);
    CU_add_test(suite, "only the main thread names the process",
                test_only_the_main_thread_names_the_process);
    CU_add_test(suite, "a mention before the fork is the same one",
                test_a_mention_before_the_fork_is_the_same_one);
    CU_add_test(suite, "a fork learned after the parent's end",
                test_a_fork_learned_after_the_parents_end);
    CU_add_test(suite, "parents make no circle", test_parents_make_no_circle);
    CU_add_test(suite, "a process goes on as another one", test_a_process_goes_on_as_another_one);
    CU_add_test(suite, "an exec of a sampled process is another row",
                test_an_exec_of_a_sampled_process_is_another_row);
    CU_add_test(suite, "an exec without samples before goes on",
                test_an_exec_without_samples_before_goes_on);
    CU_add_test(suite, "an exec by another thread", test_an_exec_by_another_thread);
    CU_add_test(suite, "a number used again ends its bearer",
                test_a_number_used_again_ends_its_bearer);
    CU_add_test(suite, "a tid that moves to another process",
                test_a_tid_that_moves_to_another_process);
    CU_add_test(suite, "a process ends with its last thread",
                test_a_process_ends_with_its_last_thread);
    CU_add_test(suite, "CPU time and samples after the exit",
                test_cpu_time_and_samples_after_the_exit);
    CU_add_test(suite, "a hundred thousand children", test_a_hundred_thousand_children);
}
