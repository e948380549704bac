/* Prints help from the tables of options. */
#include "cli/options.h"

#include <string.h>

#define OPTION_WIDTH 30

/* Characters, not bytes, of UTF-8. */
static int width_of(const char *text)
{
    int width = 0;
    for (; *text; text++)
        width += (*text & 0xc0) != 0x80;
    return width;
}

static void print_option(FILE *out, const struct cli_option *option)
{
    const char letter[] = {option->letter ? '-' : ' ', option->letter ? option->letter : ' ', '\0'};
    const char *argument = option->argument ? option->argument : "";
    const char *space = *argument && strncmp(argument, "[=", 2) != 0 ? " " : "";
    const int width = (int)strlen("-x, --") + width_of(option->name) + width_of(space) +
                      width_of(argument),
              padding = OPTION_WIDTH - width;
    fprintf(out, "  %s%s --%s%s%s%*s  %s\n", letter, option->letter ? "," : " ", option->name,
            space, argument, padding > 0 ? padding : 0, "", option->help);
}

static void print_heading(FILE *out, const struct cli_heading *headings, const char *option)
{
    for (; headings && headings->before; headings++)
        if (!strcmp(headings->before, option))
            fprintf(out, " %s:\n", headings->title);
}

void cli_help_command(FILE *out, const struct cli_command *command)
{
    fprintf(out, "Usage: sprof %s [OPTION …]%s%s\n\n%s.\n\nOptions:\n", command->name,
            command->operands ? " " : "", command->operands ? command->operands : "",
            command->summary);
    for (const struct cli_option *option = command->options; option->name; option++) {
        print_heading(out, command->headings, option->name);
        if (option->help) /* else it is for engineers */
            print_option(out, option);
    }
    fprintf(out, "  %-*s  print this help\n", OPTION_WIDTH, "-h, --help");
    if (command->details)
        fprintf(out, "\n%s", command->details);
}

void cli_help(FILE *out, const struct cli_command *const *commands)
{
    fputs("Usage: sprof COMMAND [OPTION …]\n\n"
          "Finds out where a native Linux program spends its time.\n\n"
          "Commands:\n",
          out);
    for (; *commands; commands++)
        fprintf(out, "  %-14s %s\n", (*commands)->name, (*commands)->summary);
    fputs("\n`sprof help COMMAND` lists the options of a command; `sprof help WORD` searches the "
          "guide,\n"
          "`sprof help topics` lists its chapters; `sprof --version` prints the version.\n"
          "A first profile: `sprof record -- PROGRAM ARGUMENTS`, then `sprof report`.\n",
          out);
}
