/* Opens the kernel's symbols while other things are done. */
#include "recording/kernel_opening.h"

static void *open_kernel(void *context)
{
    struct recording_kernel_opening *opening = context;
    symbolize_kernel_open(&opening->kernel, NULL, &opening->error);
    return NULL;
}

void recording_kernel_opening_begin(struct recording_kernel_opening *opening)
{
    *opening = (struct recording_kernel_opening){0};
    opening->running = !sprof_thread_create(&opening->thread, open_kernel, opening);
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
