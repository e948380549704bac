/* Opens the kernel's symbols while other things are done. */
#include "recording/kernel_opening.h"

#include <signal.h>

static void *open_kernel(void *context)
{
    struct recording_kernel_opening *opening = context;
    symbolize_kernel_open(&opening->kernel, NULL, &opening->error);
    return NULL;
}

void recording_kernel_opening_begin(struct recording_kernel_opening *opening)
{
    sigset_t all, before;
    *opening = (struct recording_kernel_opening){0};
    sigfillset(&all); /* signals are the main thread's */
    pthread_sigmask(SIG_SETMASK, &all, &before);
    opening->running = !pthread_create(&opening->thread, NULL, open_kernel, opening);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
}

bool recording_kernel_opening_take(struct recording_kernel_opening *opening,
                                   struct symbolize_kernel **kernel, struct sprof_error *error)
{
    if (!opening->running)
        return false;
    pthread_join(opening->thread, NULL);
    opening->running = false;
    *kernel = opening->kernel;
    *error = opening->error;
    return true;
}

void recording_kernel_opening_release(struct recording_kernel_opening *opening)
{
    struct symbolize_kernel *kernel;
    struct sprof_error error;
    if (recording_kernel_opening_take(opening, &kernel, &error))
        symbolize_kernel_free(kernel);
}
