/* Functions that are left by longjmp and by throwing, 20 times each; STEP_US: how long each part of them takes. */
#include <csetjmp>
#include <cstdio>
#include <ctime>
#define NI __attribute__((noinline))
static jmp_buf buffer;
NI void spin(double us)
{
    timespec a, b;
    clock_gettime(CLOCK_MONOTONIC, &a);
    do
        clock_gettime(CLOCK_MONOTONIC, &b);
    while ((b.tv_sec - a.tv_sec) * 1e6 + (b.tv_nsec - a.tv_nsec) / 1e3 < us);
}
NI void deepest(bool jumps) { spin(STEP_US); if (jumps) longjmp(buffer, 1); throw 1; }
NI void middle(bool jumps) { spin(STEP_US); deepest(jumps); spin(STEP_US); }
NI void jumps() { if (!setjmp(buffer)) middle(true); spin(4000); }
NI void catches() { try { middle(false); } catch (int) { spin(4000); } }
int main() { for (int i = 0; i < 20; i++) { jumps(); catches(); } puts("done"); }
