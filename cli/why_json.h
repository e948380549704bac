/* The answer of `sprof why` for programs. */
#ifndef SPROF_CLI_WHY_JSON_H
#define SPROF_CLI_WHY_JSON_H

#include "why/why.h"

#include <stdio.h>

/* Writes one object. Returns 0 or SPROF_ENOMEM; failures to write are left in the stream. */
int cli_why_json(FILE *out, const struct why_table *table, const struct why_verdict *verdict,
                 const struct why_circumstances *circumstances);

#endif
