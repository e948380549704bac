/* What a command of sprof takes: one table of options a command. The parser, the help text and the
 * suggestions for misspelt options all read the same tables. */
#ifndef SPROF_CLI_OPTIONS_H
#define SPROF_CLI_OPTIONS_H

#include "base/base.h"

#include <stdbool.h>
#include <stdio.h>

/* One option: "--name VALUE", "--name=VALUE", "-l VALUE", "-lVALUE"; without an argument "--name",
 * "-l". */
struct cli_option {
    const char *name;     /* without dashes; NULL ends a table */
    char letter;          /* 0: none */
    const char *argument; /* what help calls its value; "[…]": none is needed where it ends the
                             line; "[=…]": only behind a "="; NULL: it takes none */
    const char *help;     /* one line; NULL: help and shells do not offer it */
    size_t offset;        /* of the field it sets, in the command's struct of arguments */
    /* Returns 0, SPROF_EUSAGE with a message that says what a good value is, or SPROF_ENOMEM.
     * `value` is NULL for options without an argument, and lives as long as the process else. */
    int (*set)(void *field, const char *value, struct sprof_error *error);
};

/* A heading of help before an option. */
struct cli_heading {
    const char *before; /* the option's name; NULL ends a table */
    const char *title;
};

/* What is left after the options. */
struct cli_operands {
    char **items; /* NULL-terminated, part of argv */
    int count;
    const char *behind; /* the first word of a command line's arguments where all of them are
                         * options of sprof and no `--` stands before the command; else NULL */
    uint64_t given[2];  /* options that were given: a bit for each place in the table */
};

/* The state all commands share. */
struct cli_terminal;

struct cli_command {
    const char *name, *summary;
    const char *operands;       /* as help shows them; NULL: it takes none */
    bool command_follows;       /* the first operand ends the options: the rest is a command line */
    const char *rest_behind[2]; /* operands behind which all words are operands; NULL: none */
    const struct cli_option *options;
    const struct cli_heading *headings; /* NULL: none */
    const char *details;                /* paragraphs for help; NULL: none */
    size_t arguments_size;
    void (*release)(void *arguments); /* NULL: nothing to release */
    /* `arguments` was zero before the options were set. Returns the exit status, or a negative
     * SPROF_E… with *error filled, which the caller prints. */
    int (*run)(struct cli_terminal *terminal, void *arguments, const struct cli_operands *operands,
               struct sprof_error *error);
};

/* Sets the fields of `arguments` from argv (which does not hold the command's name). Returns 0, 1
 * where help was asked for, or a negative code with *error filled. Moves operands within argv. */
int cli_options_parse(const struct cli_command *command, int argc, char **argv, void *arguments,
                      struct cli_operands *operands, struct sprof_error *error);

/* The exit status of a failure. A command that could not be started gets a shell's. */
int cli_exit_status(int code);

/* The help of one command; and of sprof as a whole. `commands` ends with a NULL. */
void cli_help_command(FILE *out, const struct cli_command *command);
void cli_help(FILE *out, const struct cli_command *const *commands);

#endif
