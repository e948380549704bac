/* Sends requests until they are taken, refused, or patience ends. */
#include "fleet/link.h"

#include <poll.h>
#include <string.h>
#include <time.h>

static const uint64_t first_pause_ns = 100000000, longest_pause_ns = UINT64_C(30000000000),
                      longest_request_ns = UINT64_C(300000000000), grace_ns = UINT64_C(3000000000),
                      shortest_request_ns = 1000000000;

int fleet_link_open(struct fleet_link *link, const struct fleet_link_options *options,
                    struct sprof_error *error)
{
    *link = (struct fleet_link){
        .options = *options,
        .random = (uint32_t)sprof_hash_mix(sprof_clock_monotonic_ns()) | 1,
    };
    return fleet_http_open(&link->http, options->credentials, error);
}

void fleet_link_close(struct fleet_link *link)
{
    fleet_http_free(link->http);
    link->http = NULL;
}

enum fleet_verdict fleet_link_judge(const struct fleet_answer *answer)
{
    const long status = answer->status;
    if (status >= 200 && status < 300)
        return FLEET_TAKEN;
    if (!status)
        return answer->is_final ? FLEET_STOP : FLEET_AGAIN;
    if (status == 408 || status == 425 || status == 429 || status >= 500 || status < 200)
        return FLEET_AGAIN;
    if (status < 400 || status == 401 || status == 403 || status == 404 || status == 407)
        return FLEET_STOP;
    return FLEET_REFUSED;
}

/* Many hosts that saw one failure shall not come back together. */
static uint64_t shortened(struct fleet_link *link, uint64_t pause_ns)
{
    link->random = link->random * 1664525 + 1013904223;
    return pause_ns - pause_ns / 2 * (link->random >> 16) / 65536;
}

static bool is_ending(const struct fleet_link *link)
{
    struct pollfd end = {.fd = link->options.end_fd, .events = POLLIN};
    return end.fd >= 0 && poll(&end, 1, 0) > 0;
}

/* Waits; shorter where patience ends meanwhile. */
static void pause_for(const struct fleet_link *link, uint64_t pause_ns)
{
    struct pollfd end = {.fd = link->options.end_fd, .events = POLLIN};
    const int ms = (int)(pause_ns / 1000000) + 1;
    poll(&end, end.fd >= 0, ms);
}

/* When a receiver that failed at `since_ns` is given up. */
static uint64_t deadline_of(const struct fleet_link *link, uint64_t since_ns)
{
    const uint64_t patience_ns = link->options.patience_ns;
    if (is_ending(link) && patience_ns > grace_ns)
        return sprof_clock_monotonic_ns();
    return patience_ns < UINT64_MAX - since_ns ? since_ns + patience_ns : UINT64_MAX;
}

static void say_that_it_waits(struct fleet_link *link, const struct fleet_answer *answer)
{
    if (!link->said_that_it_waits)
        sprof_log_message(link->options.log, SPROF_LOG_NOTE, "%s: %s; trying again",
                          link->options.target->url, answer->problem);
    link->said_that_it_waits = true;
}

static int stop(const struct fleet_link *link, const struct fleet_answer *answer, int code,
                struct sprof_error *error)
{
    return sprof_error_set(error, (enum sprof_code)code, 0, "%s: %s", link->options.target->url,
                           answer->problem);
}

int fleet_link_post(struct fleet_link *link, const struct fleet_request *request,
                    enum fleet_verdict (*judge)(struct fleet_answer *answer),
                    struct fleet_answer *answer, bool *uncertain, struct sprof_error *error)
{
    const uint64_t since_ns = sprof_clock_monotonic_ns();
    struct fleet_request timed = *request;
    uint64_t pause_ns = first_pause_ns;
    for (;;) {
        const uint64_t left_ns = deadline_of(link, since_ns) - since_ns;
        timed.timeout_ns = left_ns > longest_request_ns    ? longest_request_ns
                           : left_ns < shortest_request_ns ? shortest_request_ns
                                                           : left_ns;
        const int result = fleet_http_post(link->http, &timed, answer, error);
        const enum fleet_verdict verdict = result ? FLEET_STOP : judge(answer);
        if (result)
            return result;
        if (verdict == FLEET_TAKEN || verdict == FLEET_REFUSED)
            return link->said_that_it_waits = false, verdict == FLEET_REFUSED;
        if (verdict == FLEET_STOP)
            return stop(link, answer, SPROF_ESTATE, error);
        const uint64_t wait_ns =
            answer->retry_after_ns ? answer->retry_after_ns : shortened(link, pause_ns);
        if (sprof_clock_monotonic_ns() + wait_ns > deadline_of(link, since_ns))
            return stop(link, answer, SPROF_EIO, error);
        say_that_it_waits(link, answer);
        pause_for(link, wait_ns);
        sprof_str_release(&answer->text);
        pause_ns = pause_ns < longest_pause_ns / 2 ? pause_ns * 2 : longest_pause_ns;
        link->again++;
        if (uncertain)
            *uncertain = true;
    }
}
