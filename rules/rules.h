/* The texts that select calls and functions, read into rules; and the engine of drill-downs. All of
 * it works on text and figures alone: no process, no session, no recording. */
#ifndef SPROF_RULES_RULES_H
#define SPROF_RULES_RULES_H

#include "rules/capture.h"
#include "rules/condition.h"
#include "rules/drill.h"
#include "rules/error_at.h"
#include "rules/keep_rule.h"

#endif
