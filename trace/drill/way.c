/* Records drill-downs as phases with marks. */
#include "trace/drill/drilling.h"

int trace_drilling_begin_phases(struct trace_session *common, struct sprof_error *error)
{
    struct trace_drilling *drilling = common->trace->drilling;
    int result = 0;
    if (!drilling || !drilling->has_phases)
        return 0;
    drilling->has_phases = false;
    for (size_t r = 0; r < drilling->reader.root_count && !result; r++) {
        if (!drilling->is_new[r] && !drilling->drills[r].has_widened)
            continue;
        const char *mark = trace_drilling_mark(drilling, r);
        result = mark ? trace_flush(common, error) : sprof_error_memory(error);
        if (!result)
            result = trace_begin_phase(common, mark, error);
    }
    return result;
}
