#include "report/data.h"

#include "report/number.h"

#include <inttypes.h>
#include <stdio.h>

const char *data_seconds(char buffer[static DATA_BYTES], uint64_t time_ns)
{
    const uint64_t second_ns = 1000000000;
    snprintf(buffer, DATA_BYTES, "%" PRIu64 ".%09" PRIu64, time_ns / second_ns,
             time_ns % second_ns);
    return buffer;
}

const char *data_number(char buffer[static DATA_BYTES], enum table_kind kind,
                        const struct table_cell *cell)
{
    switch (kind) {
    case TABLE_COUNT: snprintf(buffer, DATA_BYTES, "%" PRIu64, cell->part); return buffer;
    case TABLE_PERCENT:
        snprintf(buffer, DATA_BYTES, "%.10g", number_share(cell->part, cell->whole));
        return buffer;
    case TABLE_INTERVAL: snprintf(buffer, DATA_BYTES, "%.10g", cell->points); return buffer;
    case TABLE_TIME: return data_seconds(buffer, cell->part);
    case TABLE_NAME:
    case TABLE_PATH: return NULL;
    }
    return NULL;
}
