/* sprof: finds the command and runs it. */
#include "cli/commands.h"
#include "cli/foreign.h"
#include "cli/guide.h"
#include "cli/pager.h"
#include "cli/terminal.h"
#include "symbolize/symbolize.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <ucontext.h>
#include <unistd.h>

static const struct cli_command *find_command(const char *name)
{
    for (const struct cli_command *const *command = cli_commands; *command; command++)
        if (!strcmp((*command)->name, name))
            return *command;
    return NULL;
}

/* `before`: "help ", where help on the word was asked for. */
static int unknown_command(const char *name, const char *before, struct sprof_error *error)
{
    const char *foreign = cli_foreign_command(name);
    if (foreign)
        return sprof_error_set(error, SPROF_EUSAGE, 0, "`%s` is not a command: %s", name, foreign);
    const char **names = calloc(cli_command_count + 1, sizeof *names);
    if (!names)
        return sprof_error_memory(error);
    for (size_t i = 0; i < cli_command_count; i++)
        names[i] = cli_commands[i]->name;
    const int nearest = sprof_suggest_nearest(name, names);
    free(names);
    if (nearest < 0 && *before)
        return sprof_error_set(error, SPROF_EUSAGE, 0,
                               "the guide has nothing on '%s': `sprof help` lists the commands, "
                               "`sprof help topics` its chapters",
                               name);
    if (nearest < 0)
        return sprof_error_set(error, SPROF_EUSAGE, 0,
                               "`%s` is not a command: see `sprof --help`; "
                               "to profile a program: `sprof record -- %s`",
                               name, name);
    return sprof_error_set(error, SPROF_EUSAGE, 0,
                           "`%s` is not a command: did you mean `sprof %s%s`?", name, before,
                           cli_commands[nearest]->name);
}

/* Parses the command's options and runs it. */
static int run_command(const struct cli_command *command, int argc, char **argv,
                       struct cli_terminal *terminal, struct sprof_error *error)
{
    void *arguments = calloc(1, command->arguments_size);
    if (!arguments)
        return sprof_error_memory(error);
    struct cli_operands operands;
    int status = cli_options_parse(command, argc, argv, arguments, &operands, error);
    if (!status && operands.behind)
        cli_say(terminal,
                "`%s` is the command's own: options of sprof stand before `%s`, `--` after them",
                operands.behind, operands.items[0]);
    if (!status)
        status = command->run(terminal, arguments, &operands, error);
    else if (status == 1) {
        cli_help_command(stdout, command);
        status = 0;
    }
    if (command->release)
        command->release(arguments);
    free(arguments);
    return status;
}

/* Where libunwind was missing when sprof was built, some stacks are not followed to their end;
 * where what compiles BPF programs was, recording costs more. */
static void print_version(void)
{
    printf("sprof %s (%s, %s, %s)\n", SPROF_VERSION, SPROF_ARCH,
           SPROF_HAS_LIBUNWIND ? "with libunwind"
                               : "without libunwind: stacks end as no-cfi where a rule needs it",
           SPROF_HAS_BPF ? "with BPF" : "without BPF");
}

/* Searches the guide for all words. */
static int help_on(int count, char **words, struct sprof_error *error)
{
    struct cli_pager pager;
    struct sprof_str query = {0};
    int status = 0;
    for (int i = 0; i < count; i++)
        sprof_str_appendf(&query, "%s%s", i ? " " : "", words[i]);
    if (query.failed)
        status = sprof_error_memory(error);
    else {
        const unsigned columns = cli_columns(stdout, 0);
        cli_pager_start(&pager);
        const char *foreign = count == 1 ? cli_foreign_command(words[0]) : NULL;
        if (foreign)
            printf("%s: %s\n\n", words[0], foreign);
        if (cli_guide_print(stdout, query.text, columns < 100 ? columns : 100) && !foreign)
            status = unknown_command(query.text, "help ", error);
        cli_pager_finish(&pager);
    }
    sprof_str_release(&query);
    return status;
}

/* `sprof help`, `sprof help COMMAND`, `sprof help WORD …`. */
static int help(int argc, char **argv, struct sprof_error *error)
{
    const struct cli_command *command = argc == 3 ? find_command(argv[2]) : NULL;
    if (command)
        cli_help_command(stdout, command);
    else if (argc > 2)
        return help_on(argc - 2, argv + 2, error);
    else
        cli_help(stdout, cli_commands);
    return 0;
}

static int run(int argc, char **argv, struct cli_terminal *terminal, struct sprof_error *error)
{
    if (argc < 2)
        return sprof_error_set(error, SPROF_EUSAGE, 0,
                               "no command given: `sprof record -- PROGRAM` "
                               "makes a profile, `sprof --help` lists the commands");
    const struct cli_command *command = find_command(argv[1]);
    if (command)
        return run_command(command, argc - 2, argv + 2, terminal, error);
    if (!strcmp(argv[1], "--version"))
        print_version();
    else if (!strcmp(argv[1], "help"))
        return help(argc, argv, error);
    else if (!strcmp(argv[1], "--help") || !strcmp(argv[1], "-h"))
        cli_help(stdout, cli_commands);
    else
        return unknown_command(argv[1], "", error);
    return 0;
}

static void go_on(int number)
{
    (void)number;
}

/* A file that may not grow any more (`ulimit -f`) is a reported error, not sprof's death,
 * which would leave a traced process to its keeper. Commands get no handler of sprof's. */
static void survive_full_files(void)
{
    struct sigaction action;
    if (sigaction(SIGXFSZ, NULL, &action) || action.sa_handler != SIG_DFL)
        return;
    action = (struct sigaction){.sa_handler = go_on};
    sigaction(SIGXFSZ, &action, NULL);
}

/* Where sprof is started without some of them, its first files would be these, and messages would
 * be written into them. What is opened here can only be used the other way round, so that reading
 * and writing fail. Commands are started without it, as they would be without sprof. */
static void occupy_standard_files(void)
{
    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
        if (fcntl(fd, F_GETFD) < 0 && errno == EBADF &&
            open("/dev/null", (fd == STDIN_FILENO ? O_WRONLY : O_RDONLY) | O_CLOEXEC) < 0)
            return;
}

static int run_and_tell(int argc, char **argv)
{
    occupy_standard_files();
    survive_full_files();
    sprof_outlive_cut_files();
    struct cli_terminal terminal;
    cli_terminal_init(&terminal);
    struct sprof_error error = {0};
    int status = run(argc, argv, &terminal, &error);
    if (status >= 0) {
        const int output = cli_finish_output(&error);
        status = output ? output : status;
    }
    if (status < 0) {
        fflush(stdout);
        cli_say(&terminal, "%s", error.message[0] ? error.message : sprof_code_text(status));
        status = cli_exit_status(status);
    }
    if (sprof_cut_files())
        cli_say(&terminal, "a file became shorter while it was read: names and lines of its code "
                           "may be missing or wrong");
    cli_terminal_release(&terminal);
    return status;
}

const bool symbolize_child_is_here = true;

enum { STACK_BYTES = 8 << 20, ENOUGH_BYTES = 1 << 20 };

/* What runs on another stack, in two halves of its address, as makecontext(3) hands over integers.
 */
struct start {
    int argc, status;
    char **argv;
};

static void begin(unsigned high, unsigned low)
{
    struct start *start = (struct start *)((uintptr_t)high << 32 | low);
    start->status = run_and_tell(start->argc, start->argv);
}

/* Commands get the limit of stacks (`ulimit -s`) as it is. Where it is less than sprof needs, sprof
 * and its threads have stacks that it does not hold for. */
int main(int argc, char **argv)
{
    struct rlimit limit;
    struct start start = {.argc = argc, .argv = argv};
    const uintptr_t address = (uintptr_t)&start;
    ucontext_t here, there;
    pthread_attr_t attributes;
    if (argc == 1 && !strcmp(argv[0], SYMBOLIZE_CHILD_NAME))
        return symbolize_child_main();
    if (getrlimit(RLIMIT_STACK, &limit) || limit.rlim_cur >= ENOUGH_BYTES || getcontext(&there))
        return run_and_tell(argc, argv);
    void *stack = mmap(NULL, STACK_BYTES, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK, -1, 0);
    if (stack == MAP_FAILED)
        return run_and_tell(argc, argv);
    if (!pthread_attr_init(&attributes)) {
        if (!pthread_attr_setstacksize(&attributes, STACK_BYTES))
            pthread_setattr_default_np(&attributes);
        pthread_attr_destroy(&attributes);
    }
    there.uc_stack.ss_sp = stack;
    there.uc_stack.ss_size = STACK_BYTES;
    there.uc_link = &here;
    makecontext(&there, (void (*)(void))begin, 2, (unsigned)(address >> 32), (unsigned)address);
    swapcontext(&here, &there);
    return start.status;
}
