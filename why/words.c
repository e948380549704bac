/* Words that the lines of an answer have in common. */
#include "why/parts.h"

int why_percent(double share)
{
    return (int)(share * 100 + 0.5);
}

const char *why_name_of(const struct why_table *table, uint32_t function)
{
    return function ? table->functions.items[function].name : "code outside the program";
}

void why_append_share(struct sprof_str *text, const struct why_share *share)
{
    const int half = why_percent(share->half);
    sprof_str_appendf(text, "%d %% ± %d", why_percent(share->share), half > 1 ? half : 1);
}

void why_append_time(struct sprof_str *text, double ns)
{
    static const struct {
        double ns;
        const char *unit;
    } units[] = {{1e9, "s"}, {1e6, "ms"}, {1e3, "µs"}, {1, "ns"}};
    size_t unit = 0;
    while (unit < 3 && ns < units[unit].ns)
        unit++;
    const double value = ns / units[unit].ns;
    sprof_str_appendf(text, "%.*f %s",
                      value < 9.995   ? 2
                      : value < 99.95 ? 1
                                      : 0,
                      value, units[unit].unit);
}

void why_append_thread(struct sprof_str *text, const struct why_table *table, uint32_t thread)
{
    const struct why_thread *of = &table->threads.items[thread];
    sprof_str_appendf(text, "%s/%d", of->name, (int)of->tid);
}
