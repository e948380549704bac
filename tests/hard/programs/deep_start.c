/* A program like rustc: a thread of it is deep in a large library from its first millisecond on. */
#include <pthread.h>
#include <time.h>

void descend(unsigned depth, double seconds, double (*now)(void));

static double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

static void *run(void *unused)
{
    descend(250, 0.5, now);
    return unused;
}

int main(void)
{
    pthread_attr_t attributes;
    pthread_t thread;
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, 8 << 20);
    return pthread_create(&thread, &attributes, run, 0) || pthread_join(thread, 0);
}
