/* A user's statement on the recording's tables and views. */
#include "report/format.h"

int report_query(FILE *out, struct store *store, const char *sql, uint64_t numbers,
                 const struct report_style *style, struct sprof_error *error)
{
    const struct report_content content = {
        .kind = REPORT_ROWS, .store = store, .sql = sql, .numbers = numbers};
    return report_content_write(out, &content, style, error);
}
