/* symbolize: what functions take and return, by debug information: names, types, and where each
 * value is when the function begins and returns (System V ABI for x86-64, section 3.2.3).
 *
 * Debug information may say anything: sizes and depths are bounded, and a value whose place or type
 * is not known is described as such. */
#ifndef SPROF_SYMBOLIZE_SIGNATURE_H
#define SPROF_SYMBOLIZE_SIGNATURE_H

#include "base/base.h"
#include "image/image.h"

#include <stdbool.h>

struct symbolize_options;
struct symbolize_located; /* paths.h */
struct symbolize_paths;

enum symbolize_kind {
    SYMBOLIZE_UNKNOWN, /* no value of it can be shown */
    SYMBOLIZE_VOID,
    SYMBOLIZE_SIGNED,
    SYMBOLIZE_UNSIGNED,
    SYMBOLIZE_BOOL,
    SYMBOLIZE_CHARACTER,
    SYMBOLIZE_FLOAT, /* of 4 or 8 bytes */
    SYMBOLIZE_ENUM,
    SYMBOLIZE_POINTER,
    SYMBOLIZE_REFERENCE,
    SYMBOLIZE_CHARACTERS, /* an array of characters */
    SYMBOLIZE_STRING,     /* a structure that holds where a text is and how long */
    SYMBOLIZE_STRUCTURE,
};

struct symbolize_enumerator {
    const char *name;
    uint64_t value;
};

struct symbolize_member {
    const char *name;
    const struct symbolize_type *type;
    uint32_t offset;
};

/* Members and enumerators are those that a person is shown: at most SYMBOLIZE_MEMBERS. */
enum { SYMBOLIZE_MEMBERS = 16, SYMBOLIZE_ENUMERATORS = 4096, SYMBOLIZE_PARAMETERS = 16 };
enum { SYMBOLIZE_BASES = 32 /* classes of an object, at most */ };

struct symbolize_type {
    enum symbolize_kind kind;
    uint32_t bytes;
    const char *name;                /* "const char *", "Query &"; never NULL */
    const struct symbolize_type *to; /* of a pointer or reference; NULL: void, or not described */
    const struct symbolize_member *members;
    uint32_t member_count;
    const struct symbolize_enumerator *enumerators;
    uint32_t enumerator_count;
    uint32_t text_at, length_at; /* of a string: offsets of the text's address and its length */
    bool is_signed;              /* of an enumeration */
    bool has_more;               /* it has members that are not listed */
    bool is_passed_by_address;   /* its copies need more than bytes */
    bool has_class;              /* objects of it begin with the address of their virtual table */
};

/* Where a value is: in registers of arguments, each with eight bytes of it, or on the stack. */
enum symbolize_place {
    SYMBOLIZE_NOWHERE, /* not known, or the function has it in no place of its own */
    SYMBOLIZE_INTEGER, /* + 0 … 5: rdi, rsi, rdx, rcx, r8, r9; of results 0, 1: rax, rdx */
    SYMBOLIZE_VECTOR = SYMBOLIZE_INTEGER + 6, /* + 0 … 7: xmm0 … */
    SYMBOLIZE_STACK = SYMBOLIZE_VECTOR + 8,   /* + n: n words above the return address */
    SYMBOLIZE_STACK_MOST = 64,
};

struct symbolize_value {
    const char *name; /* NULL: it has none */
    const struct symbolize_type *type;
    uint8_t places[2];  /* enum symbolize_place of its first and second eight bytes */
    bool is_by_address; /* the place holds the value's address */
    bool is_constant;   /* it has no place: it is always `constant` */
    uint64_t constant;
};

struct symbolize_signature {
    /* Of a member function with an object: its class, then those that this derives from, with their
     * scopes: "store::Query". */
    const char *const *classes;
    uint32_t class_count;
    struct symbolize_value result;
    struct symbolize_value parameters[SYMBOLIZE_PARAMETERS];
    uint32_t count;
    bool has_more; /* parameters that are not described: too many, or of a variable number */
    const struct symbolize_located *located; /* of the paths that were looked for in it */
    uint32_t located_count;
};

/* Calls `found` for each of the functions that begin at the given vaddrs (in ascending order) and
 * that debug information describes. The signature is borrowed for the call; what it points to is in
 * the arena. `paths`: what is looked for in each of the functions; NULL: nothing. Returns 0 or
 * SPROF_ENOMEM, or what `found` returned. */
int symbolize_signatures(struct image *image, const struct symbolize_options *options,
                         const uint64_t *starts, size_t count, const struct symbolize_paths *paths,
                         struct sprof_arena *arena,
                         int (*found)(void *context, size_t index,
                                      const struct symbolize_signature *signature),
                         void *context);

#endif
