/* Children of vfork that work on their parent's stack, between vfork and exec or _exit. The calls
 * of vfork themselves are many, so that samples fall into it: it keeps its return address in a
 * register. */
#include "hard.h"

#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

NOINLINE static void child_leaf(unsigned long turns)
{
    BURN(turns);
}

NOINLINE static void child(const char *program, unsigned long turns)
{
    child_leaf(turns);
    if (program)
        execl(program, program, (char *)NULL);
    _exit(0);
}

NOINLINE static void launch(const char *program, unsigned long turns)
{
    int status;
    const pid_t pid = vfork();
    if (pid == 0)
        child(program, turns);
    if (pid < 0 || waitpid(pid, &status, 0) != pid || status)
        exit(3);
}

NOINLINE static void parent_leaf(void)
{
    BURN(100000);
}

int main(int argc, char **argv)
{
    if (argc != 2)
        return 2;
    for (int i = 0; i < 50; i++) {
        launch(NULL, 4000000);
        launch(argv[1], 4000000);
    }
    for (int i = 0; i < 3000; i++) {
        launch(NULL, 0);
        parent_leaf();
    }
    return 0;
}
