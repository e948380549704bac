/* Writes the template arguments of C++ classes and functions. */
#include "symbolize/cxx_types.h"

#include <ctype.h>
#include <dwarf.h>
#include <inttypes.h>
#include <string.h>

enum { MAX_DEPTH = 64 };

/* A part of a name as it is written in DWARF. */
struct written {
    const char *text;
    size_t length;
};

/* == Arguments as they are written == */

static void put_bytes(struct cxx_text *text, const char *bytes, size_t length)
{
    char piece[256];
    for (; length; bytes += length < sizeof piece ? length : sizeof piece - 1,
                   length -= length < sizeof piece ? length : sizeof piece - 1) {
        const size_t size = length < sizeof piece ? length : sizeof piece - 1;
        memcpy(piece, bytes, size);
        piece[size] = '\0';
        symbolize_cxx_put(text, piece);
    }
}

static bool ends_with(const struct cxx_text *text, char character)
{
    return text->out.length && text->out.text[text->out.length - 1] == character;
}

static void put_closing(struct cxx_text *text)
{
    symbolize_cxx_put(text, ends_with(text, '>') ? " >" : ">");
}

/* Takes the next argument from a list; false at its end. Parentheses and braces nest as brackets
 * do; "->" and operators in them do not close any. */
static bool next_argument(struct written *list, struct written *argument)
{
    size_t depth = 0, i = 0;
    while (list->length && (*list->text == ' ' || *list->text == ','))
        list->text++, list->length--;
    for (; i < list->length; i++) {
        const char c = list->text[i];
        if (!depth && c == ',')
            break;
        depth += c == '<' || c == '(' || c == '{' || c == '[';
        depth -= depth && ((c == '>' && (!i || list->text[i - 1] != '-')) || c == ')' || c == '}' ||
                           c == ']');
    }
    *argument = (struct written){list->text, i};
    list->text += i;
    list->length -= i;
    while (argument->length && argument->text[argument->length - 1] == ' ')
        argument->length--;
    return argument->length > 0;
}

/* Where the arguments of a name begin, at their '<'; NULL: it has none. Operators have brackets of
 * their own: "operator< <int>", "operator-><char>". */
static const char *arguments_of(const struct written *name)
{
    static const char *const operators[] = {"operator>", "operator->", "operator>>", "operator<=>"};
    size_t depth = 0;
    for (size_t i = 0; i < sizeof operators / sizeof *operators; i++)
        if (name->length == strlen(operators[i]) && !memcmp(name->text, operators[i], name->length))
            return NULL;
    if (!name->length || name->text[name->length - 1] != '>')
        return NULL;
    for (size_t i = name->length; i-- > 1;) {
        depth += name->text[i] == '>' && name->text[i - 1] != '-';
        if (name->text[i] == '<' && !--depth)
            return name->text + i;
    }
    return NULL;
}

static void put_written(struct cxx_text *text, struct written argument, int depth);

static void put_written_list(struct cxx_text *text, struct written list, int depth)
{
    struct written argument;
    symbolize_cxx_put(text, "<");
    while (next_argument(&list, &argument)) {
        if (!ends_with(text, '<'))
            symbolize_cxx_put(text, ", ");
        put_written(text, argument, depth + 1);
    }
    put_closing(text);
}

static struct written inside(const struct written *name, const char *list)
{
    return (struct written){list + 1, (size_t)(name->text + name->length - list) - 2};
}

/* A type without its pointers: "std::pair<const K, long int>". */
static void put_written_name(struct cxx_text *text, struct written name, int depth)
{
    char copy[64];
    const char *suffix, *list = depth < MAX_DEPTH ? arguments_of(&name) : NULL;
    if (list) {
        put_bytes(text, name.text, (size_t)(list - name.text));
        put_written_list(text, inside(&name, list), depth);
    } else if (name.length < sizeof copy) {
        memcpy(copy, name.text, name.length);
        copy[name.length] = '\0';
        symbolize_cxx_put(text, symbolize_cxx_fundamental(copy, &suffix));
    } else {
        put_bytes(text, name.text, name.length);
    }
}

/* As GCC writes it, in the order in which a demangler has it: "K const*" for "const K*". */
static void put_written(struct cxx_text *text, struct written argument, int depth)
{
    static const char constant[] = "const ";
    const bool is_constant = argument.length > sizeof constant - 1 &&
                             !memcmp(argument.text, constant, sizeof constant - 1);
    if (argument.length > 4 && !memcmp(argument.text, "(& ", 3)) {
        symbolize_cxx_put(text, "&");
        put_bytes(text, argument.text + 3, argument.length - 4);
        return;
    }
    if (is_constant) {
        argument.text += sizeof constant - 1;
        argument.length -= sizeof constant - 1;
    }
    size_t length = argument.length;
    while (length && strchr("*& ", argument.text[length - 1]))
        length--;
    put_written_name(text, (struct written){argument.text, length}, depth);
    symbolize_cxx_put(text, is_constant ? " const" : "");
    put_bytes(text, argument.text + length, argument.length - length);
}

/* == Arguments by their entries == */

static void put_number(struct cxx_text *text, const struct dwarf_node *type, uint64_t value)
{
    char digits[24];
    const bool is_signed = type->encoding == DW_ATE_signed || type->encoding == DW_ATE_signed_char;
    if (is_signed && type->bytes && type->bytes < 8) {
        const unsigned shift = 64 - 8 * (unsigned)type->bytes;
        value = (uint64_t)((int64_t)(value << shift) >> shift);
    }
    snprintf(digits, sizeof digits, is_signed ? "%" PRId64 : "%" PRIu64, value);
    symbolize_cxx_put(text, digits);
}

/* Behind typedefs and qualifiers. */
static bool plain_type(struct cxx_text *text, uint64_t self, int depth, struct dwarf_node *type)
{
    while (self && symbolize_cxx_read(text, self, depth++, type)) {
        if (type->tag != DW_TAG_typedef && type->tag != DW_TAG_const_type &&
            type->tag != DW_TAG_volatile_type)
            return true;
        self = type->type;
    }
    return false;
}

static void put_value(struct cxx_text *text, const struct dwarf_node *argument, int depth)
{
    struct dwarf_node type;
    const char *suffix = NULL;
    if (!plain_type(text, argument->type, depth, &type))
        return;
    if (type.name)
        symbolize_cxx_fundamental(type.name, &suffix);
    if (type.tag == DW_TAG_base_type && type.encoding == DW_ATE_boolean) {
        symbolize_cxx_put(text, argument->value ? "true" : "false");
    } else if (type.tag == DW_TAG_base_type && suffix) {
        put_number(text, &type, argument->value);
        symbolize_cxx_put(text, suffix);
    } else {
        symbolize_cxx_put(text, "(");
        symbolize_cxx_put_type(text, type.self, "", depth + 1);
        symbolize_cxx_put(text, ")");
        put_number(text, &type, argument->value);
    }
}

enum { ENTRIES_MAX = 256 };

struct entries {
    uint64_t items[ENTRIES_MAX];
    unsigned count, depth;
    struct cxx_text *text;
};

static void note_entry(void *context, uint64_t child, uint16_t tag)
{
    struct entries *entries = context;
    if (tag == DW_TAG_GNU_template_parameter_pack && entries->depth < MAX_DEPTH) {
        entries->depth++;
        entries->text->tree->calls->each_child(entries->text->tree->source, child, note_entry,
                                               entries);
        entries->depth--;
    }
    if ((tag == DW_TAG_template_type_parameter || tag == DW_TAG_template_value_parameter ||
         tag == DW_TAG_GNU_template_template_param) &&
        entries->count < ENTRIES_MAX)
        entries->items[entries->count++] = child;
}

static bool is_last_word(const struct written *argument, const char *name)
{
    const size_t length = strlen(name);
    return length <= argument->length &&
           !memcmp(argument->text + argument->length - length, name, length);
}

/* Whether an entry is the argument that is written so: GCC leaves out the entries of parameters
 * without a name. */
static bool is_argument(struct cxx_text *text, const struct written *argument,
                        const struct dwarf_node *entry, int depth)
{
    struct dwarf_node type;
    const char first = argument->text[0], last = argument->text[argument->length - 1];
    const bool is_number = isdigit((unsigned char)first) || first == '-' || first == '\'' ||
                           (argument->length == 4 && !memcmp(argument->text, "true", 4)) ||
                           (argument->length == 5 && !memcmp(argument->text, "false", 5));
    if (entry->tag == DW_TAG_template_value_parameter)
        return entry->has_value && (is_number || first == '(' || !isalpha((unsigned char)last) ||
                                    strchr(argument->text, ':'));
    if (entry->tag == DW_TAG_GNU_template_template_param)
        return !is_number;
    if (!entry->type)
        return argument->length == 4 && !memcmp(argument->text, "void", 4);
    if (is_number || !plain_type(text, entry->type, depth, &type))
        return false;
    return !type.name || is_last_word(argument, type.name) || last == '>';
}

static void put_entry(struct cxx_text *text, const struct dwarf_node *entry, int depth)
{
    if (entry->tag == DW_TAG_template_type_parameter)
        symbolize_cxx_put_type(text, entry->type, "", depth);
    else if (entry->tag == DW_TAG_template_value_parameter)
        put_value(text, entry, depth);
    else
        symbolize_cxx_put(text, entry->template_name ? entry->template_name : "");
}

/* An entry says more than what is written: scopes, the types of numbers, which lambda it is. */
static void put_arguments(struct cxx_text *text, uint64_t owner, struct written list, int depth)
{
    struct entries entries = {.text = text};
    struct written argument;
    unsigned next = 0;
    text->tree->calls->each_child(text->tree->source, owner, note_entry, &entries);
    symbolize_cxx_put(text, "<");
    while (next_argument(&list, &argument)) {
        struct dwarf_node entry;
        if (!ends_with(text, '<'))
            symbolize_cxx_put(text, ", ");
        if (next < entries.count && symbolize_cxx_read(text, entries.items[next], depth, &entry) &&
            is_argument(text, &argument, &entry, depth)) {
            put_entry(text, &entry, depth + 1);
            next++;
        } else {
            put_written(text, argument, depth + 1);
        }
    }
    put_closing(text);
}

void symbolize_cxx_put_own_name(struct cxx_text *text, const struct dwarf_node *node, int depth)
{
    const struct written name = {node->name, strlen(node->name)};
    const char *list = arguments_of(&name);
    size_t length = list ? (size_t)(list - name.text) : name.length;
    while (list && length && name.text[length - 1] == ' ')
        length--;
    put_bytes(text, name.text, length);
    if (!list)
        return;
    if (ends_with(text, '<'))
        symbolize_cxx_put(text, " ");
    put_arguments(text, node->self, inside(&name, list), depth + 1);
}
