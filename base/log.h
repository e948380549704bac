/* How the libraries reach the person: they do not print, they call back. */
#ifndef SPROF_BASE_LOG_H
#define SPROF_BASE_LOG_H

#include <stdint.h>

enum sprof_log_level {
    SPROF_LOG_DEBUG,   /* only with --verbose */
    SPROF_LOG_NOTE,    /* a fact the user should know once: "kernel frames are not sampled: …" */
    SPROF_LOG_WARNING, /* the numbers are affected */
};

/* Either function may be NULL. Both may be called from any of the caller's threads. */
struct sprof_log {
    void (*message)(void *context, enum sprof_log_level level, const char *text);
    /* `done` of `total` steps of a named phase; total 0 when it is not known. */
    void (*progress)(void *context, const char *phase, uint64_t done, uint64_t total);
    void *context;
};

/* NULL logs are silent. */
void sprof_log_message(const struct sprof_log *log, enum sprof_log_level level, const char *format,
                       ...) __attribute__((format(printf, 3, 4)));
void sprof_log_progress(const struct sprof_log *log, const char *phase, uint64_t done,
                        uint64_t total);

#endif
