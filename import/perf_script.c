/* Reads what `perf script` prints: a line for each sample,
 *     COMMAND  PID/TID [CPU]  SECONDS.FRACTION:  PERIOD EVENT:
 * then a line for each frame, innermost first, and an empty line. CPU, time and period may be
 * missing, and a lone number is the thread. A frame is
 *     ADDRESS FUNCTION+0xOFFSET (MODULE)
 * with "(inlined)" for a function that is part of the one below it. A frame may stand in the
 * sample's own line, where there was no call chain. Lines of other records, PERF_RECORD_…, are
 * passed over. The fields are those of perf-script(1). */
#include "import/parts.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

static const char form[] =
    "a sample is `COMMAND PID TIME: PERIOD EVENT:` and a line for each frame";

enum { LEVELS_MAX = 4096 };

/* Records that are no samples begin with this where an event would stand. */
static const char other_record[] = "PERF_RECORD_";

/* == A line of a sample == */

struct head {
    const char *command;
    size_t command_length;
    uint64_t pid, tid, time_ns, period;
    int32_t cpu;
    bool has_time, has_period;
    bool is_record; /* no sample: nothing behind the time is read */
    const char *event;
    size_t event_length;
    char *rest; /* behind the event */
};

static char *skip_blanks(char *at)
{
    while (*at == ' ' || *at == '\t')
        at++;
    return at;
}

static size_t word_length(const char *at)
{
    return strcspn(at, " \t");
}

/* The longest command name that the kernel keeps. */
enum { COMMAND_MOST = 15 };

/* A whole number that ends at one of `ends` or at the line's end. */
static bool take_number(char **at, const char *ends, uint64_t *number)
{
    if (!isdigit((unsigned char)**at))
        return false;
    char *end;
    errno = 0;
    *number = strtoull(*at, &end, 10);
    if (errno || (*end && !strchr(ends, *end)))
        return false;
    *at = end;
    return true;
}

/* A process or thread; -1 is one that perf does not have. */
static bool take_id(char **at, const char *ends, uint64_t *id)
{
    if (!strncmp(*at, "-1", 2) && (!(*at)[2] || strchr(ends, (*at)[2]))) {
        *at += 2;
        *id = 0;
        return true;
    }
    return take_number(at, ends, id) && *id <= INT32_MAX;
}

static bool take_ids(char **at, struct head *head)
{
    if (!take_id(at, "/ \t", &head->pid))
        return false;
    head->tid = head->pid;
    if (**at == '/' && (++*at, !take_id(at, " \t", &head->tid)))
        return false;
    *at = skip_blanks(*at);
    return true;
}

static void take_cpu(char **at, struct head *head)
{
    char *begin = *at + 1;
    uint64_t cpu;
    head->cpu = -1;
    if (**at != '[' || !take_number(&begin, "]", &cpu) || *begin != ']' || cpu > INT32_MAX)
        return;
    head->cpu = (int32_t)cpu;
    *at = skip_blanks(begin + 1);
}

/* The field `misc`: letters for what the processor ran. */
static void skip_misc(char **at)
{
    const size_t length = strspn(*at, "KUHGgMESP");
    if (length && length <= 4 && ((*at)[length] == ' ' || (*at)[length] == '\t'))
        *at = skip_blanks(*at + length);
}

/* Seconds with six or nine digits behind the point, and a colon. */
static void take_time(char **at, struct head *head)
{
    uint64_t seconds, fraction;
    char *end = *at;
    if (!take_number(&end, ".", &seconds) || *end != '.' || seconds > INT32_MAX)
        return;
    const char *digits = ++end;
    if (!take_number(&end, ":", &fraction) || *end != ':' || end - digits > 9)
        return;
    for (ptrdiff_t i = end - digits; i < 9; i++)
        fraction *= 10;
    head->has_time = true;
    head->time_ns = seconds * 1000000000 + fraction;
    *at = skip_blanks(end + 1);
}

/* What follows the command. */
static bool take_fields(char *at, struct head *head)
{
    head->has_time = head->has_period = false;
    if (!take_ids(&at, head))
        return false;
    take_cpu(&at, head);
    skip_misc(&at);
    take_time(&at, head);
    head->is_record = !strncmp(at, other_record, sizeof other_record - 1);
    if (head->is_record)
        return true;
    char *period = at;
    if (take_number(&period, " \t", &head->period) && *period) {
        head->has_period = true;
        at = skip_blanks(period);
    }
    struct head behind = {0};
    char *time = at;
    take_time(&time, &behind);
    if (behind.has_time) /* so the number before it is the thread's, not a period */
        return false;
    head->event = at;
    head->event_length = word_length(at);
    if (!*at && head->has_time) { /* the fields were chosen without the event */
        head->event = "samples";
        head->event_length = strlen(head->event);
        head->rest = at;
        return true;
    }
    if (head->event_length < 2 || at[head->event_length - 1] != ':')
        return false;
    head->rest = skip_blanks(at + head->event_length);
    while (head->event_length && head->event[head->event_length - 1] == ':')
        head->event_length--;
    return head->event_length > 0;
}

/* How much of a line reads as a sample's. */
static int fields_of(const struct head *head)
{
    const bool complete = head->is_record || !*head->rest || isxdigit((unsigned char)*head->rest);
    return head->has_time + (head->cpu >= 0) + head->has_period + 2 * complete + head->is_record;
}

/* A command may hold blanks, colons and numbers, and be up to 15 letters long: it ends where most
 * of what follows is as it should be. */
static bool take_head(char *line, struct head *head)
{
    struct head best = {0};
    int most = -1;
    for (char *at = line + word_length(line); *at; at += word_length(at)) {
        struct head found = {.command = line, .command_length = (size_t)(at - line)};
        if (most >= 0 && found.command_length > COMMAND_MOST)
            break;
        at = skip_blanks(at);
        if (found.command_length && take_fields(at, &found) && fields_of(&found) > most) {
            most = fields_of(&found);
            best = found;
        }
    }
    if (most >= 0)
        *head = best;
    return most >= 0;
}

/* == A line of a frame == */

struct frame_line {
    uint64_t address;
    bool inlined;
    char *function; /* NULL: unknown */
    char *module;   /* NULL: unknown */
};

/* The length of "+0x1a", or "+0x1a/0x30", at the beginning of a text; 0: it begins otherwise. */
static size_t offset_length(const char *text)
{
    static const char digits[] = "0123456789abcdef";
    const size_t first = !strncmp(text, "+0x", 3) ? strspn(text + 3, digits) : 0;
    if (!first)
        return 0;
    const char *size = text + 3 + first;
    const size_t second = !strncmp(size, "/0x", 3) ? strspn(size + 3, digits) : 0;
    return 3 + first + (second ? 3 + second : 0);
}

static bool opens_words(const char *text, const char *at)
{
    return *at == '(' && at > text && (at[-1] == ' ' || at[-1] == '\t');
}

/* The module in parentheses at the end of a frame, which may hold blanks and parentheses itself:
 * "(/opt/Program Files (x86)/game)", "(/tmp/x (deleted))". It stands behind the function's offset;
 * where there is none, it begins at the parenthesis that the last one closes. NULL: no module. */
static char *parenthesized(char *text)
{
    const size_t length = strlen(text);
    int depth = 0;
    char *last = NULL;
    if (!length || text[length - 1] != ')')
        return NULL;
    for (char *plus = strstr(text, "+0x"); plus; plus = strstr(plus + 1, "+0x")) {
        char *end = plus + offset_length(plus);
        if (end > plus && *end == ' ' && end[1] == '(')
            return end + 1;
    }
    if (*text == '(')
        return text;
    for (char *at = text + length - 1; at > text; at--) {
        depth += (*at == ')') - (*at == '(');
        if (!opens_words(text, at))
            continue;
        if (depth <= 0)
            return at;
        last = last ? last : at;
    }
    return last;
}

static void cut_offset(char *function)
{
    char *plus = strrchr(function, '+');
    if (plus && plus != function && offset_length(plus) && !plus[offset_length(plus)])
        *plus = '\0';
}

/* Takes "ADDRESS FUNCTION (MODULE)" apart. */
static bool take_frame(char *text, struct frame_line *frame)
{
    const size_t digits = strspn(text, "0123456789abcdef");
    *frame = (struct frame_line){0};
    if (!digits || digits > 16 || (text[digits] && text[digits] != ' '))
        return false;
    frame->address = strtoull(text, NULL, 16);
    char *function = skip_blanks(text + digits);
    char *module = parenthesized(function);
    if (module) {
        module[strlen(module) - 1] = '\0';
        char *end = module++;
        while (end > function && (end[-1] == ' ' || end[-1] == '\t'))
            end--;
        *end = '\0';
        cut_offset(module); /* the field dsoff */
        frame->inlined = strcmp(module, "inlined") == 0;
        frame->module = *module && strcmp(module, "[unknown]") != 0 ? module : NULL;
    }
    cut_offset(function);
    frame->function = *function && strcmp(function, "[unknown]") != 0 ? function : NULL;
    return module || !*function || frame->function;
}

/* == Samples == */

struct frame {
    uint32_t number; /* of its address */
    const char *module;
    bool in_kernel;
};

struct reader {
    struct import *import;
    struct import_sample sample;
    bool open;                                /* a sample's frames are being read */
    bool passed_over;                         /* what is at hand is no sample */
    SPROF_VEC(struct frame) frames;           /* innermost first */
    SPROF_VEC(struct recording_level) levels; /* inlined so far into the next frame */
    uint64_t inlined_at;                      /* their address */
    struct sprof_str key;                     /* the lines that these come from */
};

static bool is_kernel(const struct frame_line *line)
{
    return line->address >= UINT64_C(0xffff800000000000) ||
           (line->module && !strncmp(line->module, "[kernel.", 8));
}

/* What perf has where a user's stack had no return address. */
static bool is_no_frame(const struct frame_line *line)
{
    return line->address == UINT64_MAX && !line->function;
}

/* Ends the frame whose functions were read: gives it the number of an address with the same
 * functions in the same place. `module` NULL: unknown. */
static int close_frame(struct reader *reader, const struct frame_line *line, const char *module)
{
    struct import *import = reader->import;
    struct frame frame = {.in_kernel = is_kernel(line)};
    const bool is_core = module && !strncmp(module, "[kernel.", 8);
    if (module || frame.in_kernel)
        frame.module = import_text(import, is_core || !module ? "[kernel]" : module);
    else
        frame.module = MODEL_MODULE_UNKNOWN;
    if (!frame.module ||
        sprof_str_appendf(&reader->key, "%s\n%llx", frame.module,
                          (unsigned long long)line->address) ||
        sprof_intern_put(&import->keys, reader->key.text, &frame.number))
        return SPROF_ENOMEM;
    int result = 0;
    if (frame.number > import->names.addresses.count)
        result = import_address(import, reader->levels.items, reader->levels.count, line->address,
                                &frame.number);
    reader->levels.count = 0;
    sprof_str_clear(&reader->key);
    return result || sprof_vec_push(&reader->frames, frame) ? SPROF_ENOMEM : 0;
}

/* Functions that are inlined into one that perf has not written: a frame without a module. */
static int close_inlined(struct reader *reader)
{
    const struct frame_line line = {.address = reader->inlined_at};
    return reader->levels.count ? close_frame(reader, &line, NULL) : 0;
}

/* Adds a function. What is inlined has the address of the frame that it is part of. */
static int add_frame(struct reader *reader, const struct frame_line *line)
{
    struct import *import = reader->import;
    const struct recording_level level = {
        .name = line->function ? import_text(import, line->function) : NULL};
    if (is_no_frame(line))
        return 0;
    if (line->address != reader->inlined_at && close_inlined(reader))
        return SPROF_ENOMEM;
    if ((line->function && !level.name) || sprof_vec_push(&reader->levels, level) ||
        sprof_str_appendf(&reader->key, "%s\n", line->function ? line->function : ""))
        return SPROF_ENOMEM;
    reader->inlined_at = line->address;
    return line->inlined ? 0 : close_frame(reader, line, line->module);
}

/* A sample ends where the next begins, or with an empty line. */
static int end_sample(struct reader *reader)
{
    struct import *import = reader->import;
    if (!reader->open)
        return 0;
    reader->open = false;
    if (close_inlined(reader))
        return SPROF_ENOMEM;
    if (reader->frames.count > IMPORT_FRAMES_MAX) {
        import_complain(import, IMPORT_TOO_DEEP);
        reader->frames.count = 0;
        return 0;
    }
    if (!reader->frames.count) {
        const struct frame_line nowhere = {0};
        if (add_frame(reader, &nowhere))
            return SPROF_ENOMEM;
    }
    for (size_t i = reader->frames.count; i-- > 0;) {
        const struct frame *frame = &reader->frames.items[i];
        const struct import_module module = {.path = frame->module, .in_kernel = frame->in_kernel};
        if (import_node(import, reader->sample.node, &module, frame->number, &reader->sample.node))
            return SPROF_ENOMEM;
    }
    reader->frames.count = 0;
    int result;
    const char *wrong = import_sample(import, &reader->sample, &result);
    if (wrong)
        import_complain(import, wrong);
    return result;
}

static bool is_clock(const char *event)
{
    const size_t length = strcspn(event, ":");
    return (length == 9 && !strncmp(event, "cpu-clock", 9)) ||
           (length == 10 && !strncmp(event, "task-clock", 10)) ||
           !strcmp(event, MODEL_EVENT_WALL) || model_event_wait(event);
}

static int begin_sample(struct reader *reader, struct head *head)
{
    struct import *import = reader->import;
    char command[64], event[256];
    struct frame_line line;
    reader->passed_over = head->is_record;
    if (head->is_record)
        return 0;
    const size_t command_length =
        head->command_length < sizeof command ? head->command_length : sizeof command - 1;
    memcpy(command, head->command, command_length);
    command[command_length] = '\0';
    if (head->event_length >= sizeof event) {
        import_complain(import, "the event's name is too long");
        return 0;
    }
    memcpy(event, head->event, head->event_length);
    event[head->event_length] = '\0';
    const uint64_t weight = head->has_period ? head->period : 1;
    reader->sample = (struct import_sample){
        .cost = {1, weight}, .cpu = head->cpu, .time_ns = head->has_time ? head->time_ns : 0};
    import->has_times |= head->has_time;
    reader->open = true;
    if (import_event(import, event, head->has_period && is_clock(event), &reader->sample.event) ||
        import_thread(import, (pid_t)head->pid, (pid_t)head->tid, NULL, command,
                      &reader->sample.thread))
        return SPROF_ENOMEM;
    return *head->rest && take_frame(head->rest, &line) && line.module ? add_frame(reader, &line)
                                                                       : 0;
}

/* With `-F +srcline` a frame has a line more: "  file.c:12", perhaps with a discriminator, or the
 * module and address of code without lines: "  libc.so.6[29d90]". */
static bool is_source_line(const char *text)
{
    const char *colon = strrchr(text, ':'), *bracket = strrchr(text, '[');
    const size_t digits = colon ? strspn(colon + 1, "0123456789?") : 0;
    if (colon && digits)
        return !colon[1 + digits] || !strncmp(colon + 1 + digits, " (discriminator ", 16);
    const size_t hex = bracket ? strspn(bracket + 1, "0123456789abcdef+x") : 0;
    return bracket && bracket != text && hex && !strcmp(bracket + 1 + hex, "]");
}

/* Records that are no samples, and what perf says about its input, stand between samples. */
static bool is_other_record(const char *line)
{
    return strstr(line, other_record) || !strncmp(line, "Warning:", 8);
}

static int add_line(struct reader *reader, char *line)
{
    struct import *import = reader->import;
    struct head head = {0};
    struct frame_line frame;
    char *text = skip_blanks(line);
    if (!*text) {
        reader->passed_over = false;
        return end_sample(reader);
    }
    if (*line == '#')
        return 0;
    /* Where there are no call chains, short commands stand at the right of a column. */
    const bool begins = text == line;
    const bool is_head = take_head(text, &head) && (begins || head.has_time || !reader->open);
    if (begins || is_head) {
        const int result = end_sample(reader);
        if (result)
            return result;
    }
    if (is_head)
        return begin_sample(reader, &head);
    if (begins) {
        if (!is_other_record(line))
            import_complain(import, "this begins no sample: it has no `PID TIME: EVENT:`");
        reader->passed_over = true;
    }
    if (reader->passed_over)
        return 0;
    if (!reader->open) {
        import_complain(import, "a frame without a sample above it");
        return 0;
    }
    if (is_source_line(text) && (reader->frames.count || reader->levels.count))
        return 0;
    if (!take_frame(text, &frame)) {
        import_complain(import, "not a frame: `ADDRESS FUNCTION (MODULE)`");
        return 0;
    }
    if (reader->levels.count >= LEVELS_MAX) {
        import_complain(import, "too many functions are inlined here");
        return 0;
    }
    return add_frame(reader, &frame);
}

bool import_perf_script_recognizes(struct sprof_bytes bytes)
{
    char text[IMPORT_HEAD + 1];
    if (bytes.size > IMPORT_HEAD)
        bytes.size = IMPORT_HEAD;
    if (bytes.size)
        memcpy(text, bytes.data, bytes.size);
    text[bytes.size] = '\0';
    char *rest = text;
    for (char *line = strsep(&rest, "\n"); line; line = strsep(&rest, "\n")) {
        struct head head = {0};
        line = skip_blanks(line);
        if (*line && *line != '#')
            return take_head(line, &head) || strstr(line, other_record);
    }
    return false;
}

int import_perf_script_read(struct import *import, struct import_input *input,
                            struct sprof_error *error)
{
    struct reader reader = {.import = import};
    char *line;
    size_t length;
    int result = 0;
    while (!result && (result = import_input_line(input, &line, &length, error)) == 0) {
        import->line++;
        if (strlen(line) != length)
            import_complain(import, "the line holds a NUL byte");
        else
            result = add_line(&reader, line);
    }
    if (result == 1)
        result = end_sample(&reader) ? SPROF_ENOMEM : 1;
    sprof_vec_release(&reader.frames);
    sprof_vec_release(&reader.levels);
    sprof_str_release(&reader.key);
    return result == 1 ? import_check(import, "samples of perf script", form, error) : result;
}
