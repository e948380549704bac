/* The project's pages for people, docs/guide.md and docs/schema.md, as part of the program. */
#ifndef SPROF_CLI_DOCUMENTS_H
#define SPROF_CLI_DOCUMENTS_H

extern const char cli_guide_text[], cli_schema_text[];

#endif
