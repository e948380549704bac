#include "record/kernel_names.h"

static void *read_names(void *argument)
{
    struct record_kernel_names *names = argument;
    symbolize_kernel_open(&names->kernel, NULL, &names->error);
    return NULL;
}

void record_kernel_names_start(struct record_kernel_names *names)
{
    names->running = pthread_create(&names->thread, NULL, read_names, names) == 0;
    names->tried = names->running;
}

const struct symbolize_kernel *record_kernel_names_get(struct record_kernel_names *names)
{
    if (names->running)
        pthread_join(names->thread, NULL);
    names->running = false;
    if (!names->tried)
        read_names(names);
    names->tried = true;
    return names->kernel;
}

void record_kernel_names_release(struct record_kernel_names *names)
{
    if (names->running)
        pthread_join(names->thread, NULL);
    symbolize_kernel_free(names->kernel);
    *names = (struct record_kernel_names){0};
}
