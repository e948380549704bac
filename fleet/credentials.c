/* Reads credentials from the environment and from files that only their owner can read. */
#include "fleet/credentials.h"

#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

static const struct {
    const char *name, *variable;
    size_t offset;
} fields[] = {
    {"user", "SPROF_FLEET_USER", offsetof(struct fleet_credentials, user)},
    {"password", "SPROF_FLEET_PASSWORD", offsetof(struct fleet_credentials, password)},
    {"token", "SPROF_FLEET_TOKEN", offsetof(struct fleet_credentials, token)},
    {"tenant", "SPROF_FLEET_TENANT", offsetof(struct fleet_credentials, tenant)},
    {"ca", "SPROF_FLEET_CA", offsetof(struct fleet_credentials, ca)},
};
enum { FIELDS = sizeof fields / sizeof *fields };

static char **field_of(struct fleet_credentials *credentials, size_t field)
{
    return (char **)(void *)((char *)credentials + fields[field].offset);
}

/* Fills a field that is empty. A line end would begin another header. */
static int fill(struct fleet_credentials *credentials, size_t field, const char *value,
                struct sprof_error *error)
{
    char **text = field_of(credentials, field);
    if (*text)
        return 0;
    for (const char *byte = value; *byte; byte++)
        if ((unsigned char)*byte < ' ' || *byte == 0x7f)
            return sprof_error_set(error, SPROF_EUSAGE, 0, "the %s (%s) holds a control character",
                                   fields[field].name, fields[field].variable);
    *text = strdup(value);
    return *text ? 0 : sprof_error_memory(error);
}

static char *trim(char *text)
{
    while (*text == ' ' || *text == '\t')
        text++;
    size_t length = strlen(text);
    while (length && strchr(" \t\r\n", text[length - 1]))
        text[--length] = '\0';
    return text;
}

static int take_line(struct fleet_credentials *credentials, const char *path, size_t number,
                     char *line, struct sprof_error *error)
{
    char *value = strchr(line, '=');
    if (!*trim(line) || *trim(line) == '#')
        return 0;
    if (value)
        *value++ = '\0';
    for (size_t i = 0; value && i < FIELDS; i++)
        if (!strcmp(trim(line), fields[i].name))
            return fill(credentials, i, trim(value), error);
    return sprof_error_set(error, SPROF_EUSAGE, 0,
                           "%s:%zu: write `user = NAME`, `password = …`, `token = …`, `tenant = "
                           "NAME` or `ca = FILE`",
                           path, number);
}

static int check_file(const char *path, int fd, struct sprof_error *error)
{
    struct stat facts;
    if (fstat(fd, &facts))
        return sprof_system_error(error, "read", path);
    if (!S_ISREG(facts.st_mode))
        return sprof_error_set(error, SPROF_EUSAGE, 0, "%s is no file", path);
    if ((facts.st_uid && facts.st_uid != geteuid()) || facts.st_mode & 077)
        return sprof_error_set(error, SPROF_EPERMISSION, 0,
                               "others may read %s, which holds credentials\nrun `chmod 600 %s`, "
                               "and let it be yours or root's",
                               path, path);
    return 0;
}

static int read_file(struct fleet_credentials *credentials, const char *path,
                     struct sprof_error *error)
{
    const int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0)
        return sprof_system_error(error, "open", path);
    int result = check_file(path, fd, error);
    FILE *file = result ? NULL : fdopen(fd, "r");
    if (!file) {
        close(fd);
        return result ? result : sprof_error_memory(error);
    }
    char line[4096];
    for (size_t number = 1; !result && fgets(line, sizeof line, file); number++)
        result = take_line(credentials, path, number, line, error);
    fclose(file);
    explicit_bzero(line, sizeof line);
    return result;
}

int fleet_credentials_read(struct fleet_credentials *credentials, const char *file,
                           struct sprof_error *error)
{
    *credentials = (struct fleet_credentials){.user = NULL};
    const char *usual = getenv("SPROF_FLEET_CREDENTIALS");
    if (!file && usual && *usual)
        file = usual;
    int result = file ? read_file(credentials, file, error) : 0;
    for (size_t i = 0; i < FIELDS && !result; i++) {
        const char *value = getenv(fields[i].variable);
        if (value && *value)
            result = fill(credentials, i, value, error);
    }
    return result;
}

void fleet_credentials_release(struct fleet_credentials *credentials)
{
    for (size_t i = 0; i < FIELDS; i++) {
        char **text = field_of(credentials, i);
        if (*text)
            explicit_bzero(*text, strlen(*text));
        free(*text);
        *text = NULL;
    }
}
