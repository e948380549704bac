/* Reads what `perf script` prints: a line for each sample,
 *     COMMAND  PID/TID [CPU]  SECONDS.FRACTION:  PERIOD EVENT:
 * then a line for each frame, innermost first, and an empty line. CPU, time and period may be
 * missing, and a lone number is the thread. A frame is
 *     ADDRESS FUNCTION+0xOFFSET (MODULE)
 * with "(inlined)" for a function that is part of the one below it. A frame may stand in the
 * sample's own line, where there was no call chain. The fields are those of perf-script(1). */
#include "import/parts.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

static const char form[] =
    "a sample is `COMMAND PID TIME: PERIOD EVENT:` and a line for each frame";

enum { LEVELS_MAX = 4096 };

/* == A line of a sample == */

struct head {
    const char *command;
    size_t command_length;
    uint64_t pid, tid, time_ns, period;
    int32_t cpu;
    bool has_time, has_period;
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

static bool take_ids(char **at, struct head *head)
{
    if (!take_number(at, "/ \t", &head->pid))
        return false;
    head->tid = head->pid;
    if (**at == '/' && (++*at, !take_number(at, " \t", &head->tid)))
        return false;
    *at = skip_blanks(*at);
    return head->pid <= INT32_MAX && head->tid <= INT32_MAX;
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
    take_time(&at, head);
    char *period = at;
    if (take_number(&period, " \t", &head->period) && *period) {
        head->has_period = true;
        at = skip_blanks(period);
    }
    head->event = at;
    head->event_length = word_length(at);
    if (head->event_length < 2 || at[head->event_length - 1] != ':')
        return false;
    head->rest = skip_blanks(at + head->event_length);
    while (head->event_length && head->event[head->event_length - 1] == ':')
        head->event_length--;
    return head->event_length > 0;
}

/* A command may hold blanks and numbers: it ends before the first word from which on the line is as
 * it should be. */
static bool take_head(char *line, struct head *head)
{
    head->command = line;
    for (char *at = line + word_length(line); *at; at += word_length(at)) {
        head->command_length = (size_t)(at - line);
        at = skip_blanks(at);
        if (take_fields(at, head))
            return head->command_length > 0;
    }
    return false;
}

/* == A line of a frame == */

struct frame_line {
    uint64_t address;
    bool inlined;
    char *function; /* NULL: unknown */
    char *module;   /* NULL: unknown */
};

/* The last words in parentheses; "(/tmp/x (deleted))" is one. NULL where there are none. */
static char *parenthesized(char *text)
{
    const size_t length = strlen(text);
    static const char deleted[] = " (deleted))";
    if (!length || text[length - 1] != ')')
        return NULL;
    char *end = text + length - 1;
    if (length > sizeof deleted - 1 && !strcmp(text + length - (sizeof deleted - 1), deleted))
        end = text + length - (sizeof deleted - 1);
    while (end > text && !(*end == '(' && (end[-1] == ' ' || end[-1] == '\t')))
        end--;
    return *end == '(' ? end : NULL;
}

static void cut_offset(char *function)
{
    char *plus = strrchr(function, '+');
    if (plus && plus != function && !strncmp(plus, "+0x", 3) && plus[3] &&
        strspn(plus + 3, "0123456789abcdef") == strlen(plus + 3))
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
    struct sprof_str key;                     /* the lines that these come from */
};

static bool is_kernel(const struct frame_line *line)
{
    return line->address >= UINT64_C(0xffff800000000000) ||
           (line->module && !strncmp(line->module, "[kernel.", 8));
}

/* Gives the frame the number of an address with the same functions in the same place. */
static int add_frame(struct reader *reader, const struct frame_line *line)
{
    struct import *import = reader->import;
    const struct recording_level level = {
        .name = line->function ? import_text(import, line->function) : NULL};
    if ((line->function && !level.name) || sprof_vec_push(&reader->levels, level) ||
        sprof_str_appendf(&reader->key, "%s\n", line->function ? line->function : ""))
        return SPROF_ENOMEM;
    if (line->inlined)
        return 0;
    const bool in_kernel = is_kernel(line);
    const bool is_core = line->module && !strncmp(line->module, "[kernel.", 8);
    struct frame frame = {.in_kernel = in_kernel};
    if (line->module || in_kernel)
        frame.module = import_text(import, is_core || !line->module ? "[kernel]" : line->module);
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

/* A sample ends where the next begins, or with an empty line. */
static int end_sample(struct reader *reader)
{
    struct import *import = reader->import;
    if (!reader->open)
        return 0;
    reader->open = false;
    if (reader->levels.count) { /* inlined into nothing: the innermost line stands for the frame */
        reader->levels.count = 0;
        sprof_str_clear(&reader->key);
        import_complain(import, "the frame into which these functions are inlined is missing");
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
           (length == 10 && !strncmp(event, "task-clock", 10));
}

static int begin_sample(struct reader *reader, struct head *head)
{
    struct import *import = reader->import;
    char command[64], event[256];
    struct frame_line line;
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
    reader->passed_over = !strncmp(event, "PERF_RECORD_", 12);
    if (reader->passed_over)
        return 0;
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

/* With `-F +srcline` a frame has a line more: "  file.c:12". */
static bool is_source_line(const char *text)
{
    const char *colon = strrchr(text, ':');
    return colon && colon != text && isdigit((unsigned char)colon[1]);
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
        import_complain(import, "this begins no sample: it has no `PID TIME: EVENT:`");
        reader->passed_over = true;
    }
    if (reader->passed_over)
        return 0;
    if (!reader->open) {
        import_complain(import, "a frame without a sample above it");
        return 0;
    }
    if (is_source_line(text) && (reader->frames.count || reader->levels.count) &&
        !strpbrk(text, "()"))
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
            return take_head(line, &head);
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
