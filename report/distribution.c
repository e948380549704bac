/* Finds the distribution that a machine runs in /etc/os-release or /usr/lib/os-release. */
#include "report/distribution.h"

#include "base/base.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

static const struct family {
    const char *id;
    enum report_distribution_family family;
    const char *servers;
} families[] = {
    {"debian", REPORT_DISTRIBUTION_DEBIAN, "https://debuginfod.debian.net"},
    {"ubuntu", REPORT_DISTRIBUTION_UBUNTU, "https://debuginfod.ubuntu.com"},
    {"fedora", REPORT_DISTRIBUTION_FEDORA, "https://debuginfod.fedoraproject.org"},
    {"centos", REPORT_DISTRIBUTION_FEDORA, "https://debuginfod.centos.org"},
    {"rhel", REPORT_DISTRIBUTION_FEDORA, "https://debuginfod.elfutils.org"},
    {"arch", REPORT_DISTRIBUTION_ARCH, "https://debuginfod.archlinux.org"},
};
static const struct family other = {"", REPORT_DISTRIBUTION_OTHER,
                                    "https://debuginfod.elfutils.org"};

/* The value behind `key`=, without quotes; false where the file has no such line. */
static bool find_value(const char *release, const char *key, char *value, size_t size)
{
    const size_t length = strlen(key);
    for (const char *line = release; line && *line; line = strchr(line, '\n')) {
        line += *line == '\n';
        if (strncmp(line, key, length) != 0 || line[length] != '=')
            continue;
        const char *begin = line + length + 1;
        const char quote = *begin == '"' || *begin == '\'' ? *begin++ : '\0';
        size_t count = 0;
        while ((unsigned char)begin[count] >= ' ' && begin[count] != quote && count < size - 1)
            count++;
        memcpy(value, begin, count);
        value[count] = '\0';
        return count > 0;
    }
    *value = '\0';
    return false;
}

/* The family of the first word that names one; NULL: none. */
static const struct family *family_of(const char *words)
{
    while (*words) {
        const size_t length = strcspn(words, " ");
        for (size_t i = 0; i < sizeof families / sizeof *families; i++)
            if (strlen(families[i].id) == length && !strncmp(words, families[i].id, length))
                return &families[i];
        words += length + strspn(words + length, " ");
    }
    return NULL;
}

void report_distribution_read(struct report_distribution *distribution, const char *root)
{
    static const char *const paths[] = {"/etc/os-release", "/usr/lib/os-release"};
    struct sprof_str release = {0};
    char id[96] = "", like[128] = "";
    *distribution = (struct report_distribution){0};
    for (size_t i = 0; i < 2 && !release.length; i++) {
        char path[1024];
        if (snprintf(path, sizeof path, "%s%s", root, paths[i]) < (int)sizeof path)
            sprof_proc_read(path, 64 << 10, &release);
    }
    find_value(release.text, "ID", id, sizeof id);
    find_value(release.text, "ID_LIKE", like, sizeof like);
    find_value(release.text, "PRETTY_NAME", distribution->name, sizeof distribution->name);
    find_value(release.text, "VERSION_CODENAME", distribution->codename,
               sizeof distribution->codename);
    const struct family *family = family_of(id);
    family = family ? family : family_of(like);
    family = family ? family : &other;
    distribution->family = family->family;
    distribution->servers = family->servers;
    sprof_str_release(&release);
}
