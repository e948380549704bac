/* Changes what the sources do while they run: whether they pause, their rate, what they capture. */
#include "sampler/session.h"

static int cannot(const struct source *source, const char *what, struct sprof_error *error)
{
    return sprof_error_set(error, SPROF_EUNSUPPORTED, 0, "the source `%s` cannot %s",
                           source->kind->name, what);
}

/* After a change of which all that was collected up to `time_ns` lies before: the facts are new. */
static int changed(struct sampler *sampler, uint64_t time_ns, uint64_t *changed_ns)
{
    if (changed_ns)
        *changed_ns = time_ns;
    return sampler_state_facts(sampler);
}

int sampler_set_paused(struct sampler *sampler, bool paused, uint64_t *changed_ns,
                       struct sprof_error *error)
{
    const uint64_t before_ns = sprof_clock_monotonic_ns();
    for (size_t i = 0; i < sampler->sources.count; i++) {
        struct source *source = sampler->sources.items[i];
        const int result = source->kind->set_paused
                               ? source->kind->set_paused(source, paused, error)
                               : cannot(source, "pause", error);
        if (result)
            return result;
    }
    sampler->was_paused |= paused;
    return changed(sampler, paused ? sprof_clock_monotonic_ns() : before_ns, changed_ns);
}

int sampler_set_rate(struct sampler *sampler, uint64_t frequency_hz, uint64_t *changed_ns,
                     struct sprof_error *error)
{
    for (size_t i = 0; i < sampler->sources.count; i++) {
        struct source *source = sampler->sources.items[i];
        const int result = source->kind->set_rate
                               ? source->kind->set_rate(source, frequency_hz, error)
                               : cannot(source, "change its rate", error);
        if (result)
            return result;
    }
    return changed(sampler, sprof_clock_monotonic_ns(), changed_ns);
}

/* Samples taken while one event takes over from the other may be of either: they carry enough for
 * the less detailed side of the change, and are of that. */
int sampler_set_capture(struct sampler *sampler, enum sampler_capture capture, uint64_t *changed_ns,
                        struct sprof_error *error)
{
    const uint64_t before_ns = sprof_clock_monotonic_ns();
    const bool less = capture < sampler->capture;
    for (size_t i = 0; i < sampler->sources.count; i++) {
        struct source *source = sampler->sources.items[i];
        const int result = source->kind->set_capture
                               ? source->kind->set_capture(source, capture, error)
                               : cannot(source, "change its mode", error);
        if (result)
            return result;
    }
    sampler->capture = capture;
    return changed(sampler, less ? before_ns : sprof_clock_monotonic_ns(), changed_ns);
}

int sampler_set_slice(struct sampler *sampler, size_t stack_bytes, uint64_t *changed_ns,
                      struct sprof_error *error)
{
    for (size_t i = 0; i < sampler->sources.count; i++) {
        struct source *source = sampler->sources.items[i];
        const int result = source->kind->set_slice
                               ? source->kind->set_slice(source, stack_bytes, error)
                               : cannot(source, "change its slice", error);
        if (result)
            return result;
    }
    return changed(sampler, sprof_clock_monotonic_ns(), changed_ns);
}

void sampler_watch(struct sampler *sampler, int fd)
{
    sampler->watched_fd = fd;
}

int sampler_set_environment(struct sampler *sampler, const char *assignment)
{
    return target_command(sampler->target) ? target_set_environment(sampler->target, assignment)
                                           : 0;
}
