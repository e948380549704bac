/* Writes names with as much of their detail as is asked for. */
#include "names/names.h"
#include "names/parse.h"
#include "names/write.h"

#include <string.h>

struct shortened {
    struct sprof_str *out;
    const char *text;
    const struct names_parsed *parsed;
    enum names_detail detail;
    bool begun;  /* a component was written */
    bool in_std; /* … and it was std */
};

static bool begins(const char *text, const char *with)
{
    return !strncmp(text, with, strlen(with));
}

static bool shows_arguments(const struct shortened *name)
{
    return name->detail == NAMES_ARGUMENTS || name->detail >= NAMES_BOTH;
}

static bool shows_parameters(const struct shortened *name)
{
    return name->detail >= NAMES_PARAMETERS;
}

static void put_list(const struct shortened *name, size_t begin, size_t end)
{
    names_put_types(name->out, name->text, begin, end, name->detail >= NAMES_DEEP);
}

/* "(int, char)", with the brackets that are there. */
static void put_brackets(const struct shortened *name, size_t begin, size_t end)
{
    sprof_str_append_bytes(name->out, name->text + begin, 1);
    put_list(name, begin + 1, end - 1);
    sprof_str_append_bytes(name->out, name->text + end - 1, 1);
}

/* == Closures == */

static bool is_rust_closure(const char *part)
{
    return begins(part, "{{closure}}") || begins(part, "{closure#") ||
           begins(part, "{closure_env#");
}

/* Whether a component is a lambda: of GCC, clang, LLVM's demangler, DWARF, or Rust. */
static bool is_closure(const char *text, const struct names_part *part)
{
    const char *begin = text + part->begin;
    if (begin[0] == '$' && begin[1] == '_')
        return strspn(begin + 2, "0123456789") == part->end - part->begin - 2;
    return begins(begin, "{lambda(") || begins(begin, "<lambda(") || begins(begin, "'lambda") ||
           is_rust_closure(begin);
}

/* Its number, as text: "#2" of "{lambda()#2}", "0" of "$_0". */
static void put_number(const struct shortened *name, const struct names_part *part)
{
    size_t end = part->end, begin;
    while (end > part->begin && strchr("}')>", name->text[end - 1]))
        end--;
    for (begin = end; begin > part->begin && strchr("0123456789", name->text[begin - 1]);)
        begin--;
    if (begin == end)
        return;
    sprof_str_append(name->out, "#");
    sprof_str_append_bytes(name->out, name->text + begin, end - begin);
}

static void put_behind(const struct shortened *name, const struct names_part *part)
{
    sprof_str_append_bytes(name->out, name->text + part->behind, part->behind_end - part->behind);
}

/* Writes "λ(int)" and returns how many components that was: with its operator(), two. */
static size_t put_closure(const struct shortened *name, size_t index)
{
    const struct names_part *part = &name->parsed->parts[index];
    const struct names_part *call = index + 1 < name->parsed->count ? part + 1 : NULL;
    const char *open = memchr(name->text + part->begin, '(', part->end - part->begin);
    if (call && !begins(name->text + call->begin, "operator()"))
        call = NULL;
    sprof_str_append(name->out, "λ");
    if (shows_arguments(name))
        put_number(name, part);
    if (call && call->parameters != call->behind)
        put_brackets(name, call->parameters, call->behind);
    else if (part->parameters != part->behind)
        put_brackets(name, part->parameters, part->behind);
    else if (open && !is_rust_closure(name->text + part->begin))
        put_brackets(name, (size_t)(open - name->text),
                     names_closing(name->text, (size_t)(open - name->text)));
    return call ? 2 : 1;
}

/* == Other components == */

/* One letter and perhaps a digit: a type that is a parameter says nothing, its trait does. */
static bool is_parameter(const char *text, size_t begin, size_t end)
{
    while (begin < end && (text[begin] == '&' || text[begin] == '*'))
        begin++;
    return end - begin == 1 && text[begin] >= 'A' && text[begin] <= 'Z';
}

/* Whether a component names the type that a function is of, as "<impl T>" does: the module in which
 * that stands, written before it, says nothing more. */
static bool is_rust_impl(const struct shortened *name, const struct names_part *part)
{
    return begins(name->text + part->begin, "<impl ") &&
           names_closing(name->text, part->begin) == part->end;
}

static bool stands_before_impl(const struct shortened *name, size_t index)
{
    while (++index < name->parsed->count)
        if (is_rust_impl(name, &name->parsed->parts[index]))
            return true;
    return false;
}

/* "<alloc::vec::Vec<T> as Drop>" is of Vec. False where the component is no such. */
static bool put_rust_type(const struct shortened *name, const struct names_part *part)
{
    const char *text = name->text;
    const size_t begin = part->begin + 1, end = part->end - 1;
    if (text[part->begin] != '<' || names_closing(text, part->begin) != part->end)
        return false;
    const size_t as = names_trait(text, part->begin);
    const bool impl = begins(text + begin, "impl ");
    const char *of = impl ? strstr(text + begin, " for ") : NULL;
    if (of && of > text + end)
        of = NULL;
    if (shows_arguments(name))
        put_brackets(name, part->begin, part->end);
    else if (as && is_parameter(text, begin, as))
        put_list(name, as + strlen(" as "), end);
    else if (as)
        put_list(name, begin, as);
    else if (of && is_parameter(text, (size_t)(of - text) + strlen(" for "), end))
        put_list(name, begin + strlen("impl "), (size_t)(of - text));
    else if (of)
        put_list(name, (size_t)(of - text) + strlen(" for "), end);
    else
        put_list(name, impl ? begin + strlen("impl ") : begin, end);
    return true;
}

/* "basic_string" of char in std is "string". */
static bool is_basic(const struct shortened *name, const struct names_part *part)
{
    const struct names_hole *hole = &name->parsed->holes[part->first_hole];
    return name->in_std && part->holes && begins(name->text + part->begin, "basic_") &&
           names_of_char(name->text + hole->begin);
}

static void put_hole(const struct shortened *name, const struct names_hole *hole)
{
    size_t open = hole->begin;
    if (hole->noise || !shows_arguments(name))
        return;
    while (!strchr("(<[{", name->text[open]))
        open++;
    sprof_str_append_bytes(name->out, name->text + hole->begin, open - hole->begin);
    put_brackets(name, open, hole->end);
}

/* Bytes of ".max" behind "max!(int)": a template of D that has one member of its own name. */
static size_t repetition(const char *text, const struct names_part *part,
                         const struct names_hole *hole)
{
    size_t word = hole->begin;
    while (word > part->begin && text[word - 1] != '.')
        word--;
    const size_t length = hole->begin - word, end = hole->end + 1 + length;
    const bool repeated = text[hole->begin] == '!' && length && end <= part->end &&
                          text[hole->end] == '.' &&
                          !memcmp(text + word, text + hole->end + 1, length) &&
                          (end == part->end || strchr(".!", text[end]));
    return repeated ? length + 1 : 0;
}

static void put_plain(const struct shortened *name, const struct names_part *part)
{
    const bool basic = is_basic(name, part);
    size_t at = part->begin + (basic ? strlen("basic_") : 0);
    for (size_t i = 0; i < part->holes; i++) {
        const struct names_hole *hole = &name->parsed->holes[part->first_hole + i];
        sprof_str_append_bytes(name->out, name->text + at, hole->begin - at);
        if (!basic || i)
            put_hole(name, hole);
        at = hole->end + repetition(name->text, part, hole);
    }
    sprof_str_append_bytes(name->out, name->text + at, part->end - at);
}

static bool is_rust_hash(const char *text, const struct names_part *part)
{
    return part->end - part->begin == 17 && text[part->begin] == 'h' &&
           strspn(text + part->begin + 1, "0123456789abcdef") == 16;
}

/* Scopes that say nothing. The last component is none of them, but for the hash of Rust. */
static bool is_left_out(const struct shortened *name, size_t index)
{
    const struct names_part *part = &name->parsed->parts[index];
    if (index + 1 == name->parsed->count)
        return index && is_rust_hash(name->text, part);
    return (!shows_arguments(name) && stands_before_impl(name, index)) ||
           names_is_noise(name->text + part->begin, part->end - part->begin) ||
           begins(name->text + part->begin, "{impl#");
}

static size_t put_part(struct shortened *name, size_t index)
{
    const struct names_part *part = &name->parsed->parts[index];
    const bool last = index + 1 == name->parsed->count;
    if (is_left_out(name, index))
        return 1;
    if (name->begun)
        sprof_str_append(name->out, "::");
    name->begun = true;
    if (is_closure(name->text, part))
        return put_closure(name, index);
    if (!put_rust_type(name, part))
        put_plain(name, part);
    name->in_std = part->end - part->begin == 3 && begins(name->text + part->begin, "std");
    if (part->parameters == part->behind)
        return 1;
    if (shows_parameters(name)) {
        put_brackets(name, part->parameters, part->behind);
        put_behind(name, part);
    } else if (!last) {
        sprof_str_append(name->out, "()");
    }
    return 1;
}

/* == Names == */

/* Bytes of the directories before the package of a Go function: "net/" of "net/http.Get". */
static size_t go_directories(const char *text)
{
    const size_t plain = strcspn(text, "(<[{ :\"'");
    size_t slash = 0;
    for (size_t i = 0; i < plain; i++)
        if (text[i] == '/')
            slash = i + 1;
    return slash > 1 && text[0] != '/' && memchr(text + slash, '.', plain - slash) ? slash : 0;
}

/* Whether nothing can be left out. */
static bool is_plain(const char *text)
{
    return !strpbrk(text, "(<[{:/");
}

/* " [clone .isra.0]" as C's names have it: ".isra.0". */
static int put_suffix(struct sprof_str *out, const char *suffix)
{
    static const char mark[] = " [clone ";
    while (begins(suffix, mark)) {
        const char *word = suffix + strlen(mark), *end = strchr(word, ']');
        if (!end)
            break;
        sprof_str_append_bytes(out, word, (size_t)(end - word));
        suffix = end + 1;
    }
    return sprof_str_append(out, suffix);
}

int names_append(struct sprof_str *out, const char *name, enum names_detail detail)
{
    struct names_parsed parsed;
    const size_t before = out->length;
    if (detail == NAMES_FULL || is_plain(name))
        return sprof_str_append(out, name);
    const size_t directories = detail == NAMES_SHORT ? go_directories(name) : 0;
    if (directories)
        return names_append(out, name + directories, detail);
    if (!names_parse(name, &parsed))
        return sprof_str_append(out, name);
    sprof_str_append_bytes(out, name, parsed.prefix);
    struct shortened shortened = {.out = out, .text = name, .parsed = &parsed, .detail = detail};
    for (size_t i = 0; i < parsed.count;)
        i += put_part(&shortened, i);
    if (out->length == before + parsed.prefix && !out->failed)
        return sprof_str_append(out, name + parsed.prefix);
    return put_suffix(out, name + parsed.suffix);
}

size_t names_last(const char *name)
{
    struct names_parsed parsed;
    if (is_plain(name))
        return 0;
    const size_t directories = go_directories(name);
    if (directories)
        return directories;
    if (!names_parse(name, &parsed))
        return 0;
    size_t last = parsed.count - 1;
    if (last && begins(name + parsed.parts[last].begin, "operator()") &&
        is_closure(name, &parsed.parts[last - 1]))
        last--;
    while (last &&
           (is_closure(name, &parsed.parts[last]) || is_rust_hash(name, &parsed.parts[last]) ||
            begins(name + parsed.parts[last].begin, "λ")))
        last--;
    return parsed.parts[last].begin;
}
