/* Makes batches of what is to be sent, and reads them back. */
#include "fleet/batch.h"

#include <ctype.h>
#include <inttypes.h>
#include <string.h>
#include <zlib.h>

static const char head[] = "sprof batch 1";

/* == Making == */

struct packing {
    z_stream stream;
    struct sprof_str out;
    FILE *lines; /* of a piece that becomes Native, behind the column names; NULL: of none */
    uint64_t rows;
    bool open;
};

static int deflate_bytes(struct packing *packing, const void *bytes, size_t size, int flush)
{
    unsigned char room[1 << 14];
    packing->stream.next_in = (unsigned char *)(uintptr_t)bytes;
    packing->stream.avail_in = (unsigned)size;
    do {
        packing->stream.next_out = room;
        packing->stream.avail_out = sizeof room;
        if (deflate(&packing->stream, flush) == Z_STREAM_ERROR)
            return SPROF_ENOMEM;
        if (sprof_str_append_bytes(&packing->out, (const char *)room,
                                   sizeof room - packing->stream.avail_out))
            return SPROF_ENOMEM;
    } while (!packing->stream.avail_out);
    return 0;
}

static int begin(struct packing *packing, struct sprof_error *error)
{
    enum { LEVEL = 5, GZIP = 15 + 16, MEMORY = 8 };
    *packing = (struct packing){.rows = 0};
    packing->open =
        deflateInit2(&packing->stream, LEVEL, Z_DEFLATED, GZIP, MEMORY, Z_DEFAULT_STRATEGY) == Z_OK;
    return packing->open ? 0 : sprof_error_memory(error);
}

static void abandon(struct packing *packing)
{
    if (packing->open)
        deflateEnd(&packing->stream);
    packing->open = false;
    if (packing->lines)
        fclose(packing->lines);
    packing->lines = NULL;
    sprof_str_release(&packing->out);
}

static int pack_native(struct packing *packing, const struct fleet_batch *batch,
                       struct sprof_error *error)
{
    char *bytes = NULL;
    size_t size = 0;
    if (fflush(packing->lines) || ferror(packing->lines))
        return sprof_system_error(error, "write", "a temporary file");
    FILE *out = open_memstream(&bytes, &size);
    int result = out ? batch->to_native(out, packing->lines, error) : sprof_error_memory(error);
    if (out && fclose(out) && !result)
        result = sprof_error_memory(error);
    if (!result && deflate_bytes(packing, bytes, size, Z_NO_FLUSH))
        result = sprof_error_memory(error);
    free(bytes);
    return result;
}

/* What was packed becomes a piece. */
static int end(struct packing *packing, struct fleet_batch *batch, const char *name,
               const char *columns, struct sprof_error *error)
{
    struct fleet_piece piece = {.rows = packing->rows, .columns = strdup(columns)};
    snprintf(piece.name, sizeof piece.name, "%s%s", name, packing->lines ? FLEET_NATIVE : "");
    int result = packing->lines ? pack_native(packing, batch, error) : 0;
    if (!result && (!piece.columns || deflate_bytes(packing, NULL, 0, Z_FINISH)))
        result = sprof_error_memory(error);
    if (!result) {
        piece.body.size = packing->out.length;
        piece.body.data = (const uint8_t *)sprof_str_take(&packing->out);
        result = sprof_vec_push(&batch->pieces, piece) ? sprof_error_memory(error) : 0;
    }
    if (result) {
        free(piece.columns);
        free((void *)(uintptr_t)piece.body.data);
    }
    abandon(packing);
    return result;
}

/* A converter of rows takes its first line for the names of columns. */
static int begin_native(struct packing *packing, const char *columns, struct sprof_error *error)
{
    packing->lines = tmpfile();
    if (!packing->lines)
        return sprof_system_error(error, "make", "a temporary file");
    for (const char *at = columns; *at; at++)
        putc(*at == ',' ? '\t' : *at, packing->lines);
    putc('\n', packing->lines);
    return 0;
}

static int add_line(struct packing *packing, struct fleet_batch *batch, const char *columns,
                    const char *line, size_t length, struct sprof_error *error)
{
    int result = packing->open ? 0 : begin(packing, error);
    if (!result && batch->to_native && !packing->lines)
        result = begin_native(packing, columns, error);
    if (result)
        return result;
    batch->key = sprof_hash_pair(batch->key, sprof_hash_bytes(line, length));
    packing->rows++;
    if (packing->lines)
        return fwrite(line, 1, length, packing->lines) == length
                   ? 0
                   : sprof_system_error(error, "write", "a temporary file");
    return deflate_bytes(packing, line, length, Z_NO_FLUSH) ? sprof_error_memory(error) : 0;
}

/* The line of column names, as "a,b,c". */
static int take_columns(char **columns, char *line, struct sprof_error *error)
{
    line[strlen(line) - 1] = '\0';
    for (char *tab = line; (tab = strchr(tab, '\t'));)
        *tab = ',';
    *columns = strdup(line);
    return *columns ? 0 : sprof_error_memory(error);
}

int fleet_batch_add_table(struct fleet_batch *batch, const char *name, FILE *rows,
                          struct sprof_error *error)
{
    struct packing packing = {.rows = 0};
    char *line = NULL, *columns = NULL;
    size_t capacity = 0;
    ssize_t length;
    int result = 0;
    while (!result && (length = getline(&line, &capacity, rows)) > 0) {
        if (line[length - 1] != '\n')
            result = sprof_error_set(error, SPROF_EFORMAT, 0, "a row of `%s` has no end", name);
        else if (!columns)
            result = take_columns(&columns, line, error);
        else
            result = add_line(&packing, batch, columns, line, (size_t)length, error);
        if (!result && packing.rows == FLEET_PIECE_ROWS)
            result = end(&packing, batch, name, columns, error);
    }
    if (!result && !feof(rows))
        result = sprof_system_error(error, "read", name);
    if (!result && packing.open)
        result = end(&packing, batch, name, columns, error);
    abandon(&packing);
    free(columns);
    free(line);
    return result;
}

int fleet_batch_add_bytes(struct fleet_batch *batch, const char *name, struct sprof_bytes bytes,
                          struct sprof_error *error)
{
    struct packing packing;
    int result = begin(&packing, error);
    batch->key = sprof_hash_pair(batch->key, sprof_hash_bytes(bytes.data, bytes.size));
    if (!result && deflate_bytes(&packing, bytes.data, bytes.size, Z_NO_FLUSH))
        result = sprof_error_memory(error);
    if (!result)
        result = end(&packing, batch, name, "", error);
    abandon(&packing);
    return result;
}

void fleet_batch_release(struct fleet_batch *batch)
{
    for (size_t i = 0; i < batch->pieces.count; i++) {
        free(batch->pieces.items[i].columns);
        if (!batch->is_borrowed)
            free((void *)(uintptr_t)batch->pieces.items[i].body.data);
    }
    sprof_vec_release(&batch->pieces);
    *batch = (struct fleet_batch){.key = 0};
}

/* == Files == */

/* The lines of the pieces. */
static int list_pieces(const struct fleet_batch *batch, struct sprof_str *lines)
{
    int result = 0;
    for (size_t i = 0; i < batch->pieces.count && !result; i++) {
        const struct fleet_piece *piece = &batch->pieces.items[i];
        result = sprof_str_appendf(lines, "%s %" PRIu64 " %zu %s\n", piece->name, piece->rows,
                                   piece->body.size, piece->columns);
    }
    return result;
}

int fleet_batch_write(const struct fleet_batch *batch, FILE *file)
{
    struct sprof_str lines = {0};
    if (list_pieces(batch, &lines)) {
        sprof_str_release(&lines);
        return SPROF_ENOMEM;
    }
    uint64_t hash = sprof_hash_bytes(lines.text, lines.length);
    for (size_t i = 0; i < batch->pieces.count; i++) {
        const struct sprof_bytes body = batch->pieces.items[i].body;
        hash = sprof_hash_pair(hash, sprof_hash_bytes(body.data, body.size));
    }
    fprintf(file, "%s %zu %016" PRIx64 "\n", head, batch->pieces.count, hash);
    fwrite(lines.text, 1, lines.length, file);
    for (size_t i = 0; i < batch->pieces.count; i++)
        fwrite(batch->pieces.items[i].body.data, 1, batch->pieces.items[i].body.size, file);
    sprof_str_release(&lines);
    return 0;
}

/* A line without its end, copied; NULL: there is none of at most 4096 bytes. */
static char *take_line(struct sprof_reader *reader)
{
    enum { LINE_MAX_BYTES = 4096 };
    const size_t left = sprof_reader_left(reader);
    const uint8_t *end = left ? memchr(reader->next, '\n', left) : NULL;
    if (!end || end - reader->next > LINE_MAX_BYTES)
        return NULL;
    const size_t length = (size_t)(end - reader->next);
    char *line = strndup((const char *)reader->next, length);
    sprof_reader_take(reader, length + 1);
    return line;
}

static bool is_word(const char *text, const char *others)
{
    for (; *text; text++)
        if (!islower((unsigned char)*text) && !strchr(others, *text))
            return false;
    return true;
}

static bool parse_piece(const char *line, struct fleet_piece *piece, size_t *size)
{
    int at = 0;
    return sscanf(line, "%15s %" SCNu64 " %zu %n", piece->name, &piece->rows, size, &at) == 3 &&
           at && is_word(piece->name, ".") && is_word(line + at, ",_") &&
           (piece->columns = strdup(line + at));
}

static bool parse_pieces(struct fleet_batch *batch, struct sprof_reader *reader, size_t count,
                         uint64_t hash)
{
    const uint8_t *lines = reader->next;
    SPROF_VEC(size_t) sizes = {0};
    bool good = count && count <= FLEET_PIECES_MAX;
    for (size_t i = 0; i < count && good; i++) {
        struct fleet_piece piece = {.rows = 0};
        size_t size = 0;
        char *line = take_line(reader);
        good = line && parse_piece(line, &piece, &size) && !sprof_vec_push(&sizes, size);
        if (!good || sprof_vec_push(&batch->pieces, piece)) {
            good = false;
            free(piece.columns);
        }
        free(line);
    }
    uint64_t sum = good ? sprof_hash_bytes(lines, (size_t)(reader->next - lines)) : 0;
    for (size_t i = 0; i < count && good; i++) {
        struct sprof_bytes *body = &batch->pieces.items[i].body;
        *body = (struct sprof_bytes){sprof_reader_take(reader, sizes.items[i]), sizes.items[i]};
        good = body->data != NULL;
        sum = good ? sprof_hash_pair(sum, sprof_hash_bytes(body->data, body->size)) : 0;
    }
    sprof_vec_release(&sizes);
    return good && !sprof_reader_left(reader) && sum == hash;
}

int fleet_batch_parse(struct fleet_batch *batch, struct sprof_bytes bytes,
                      struct sprof_error *error)
{
    struct sprof_reader reader = sprof_reader_of(bytes);
    size_t count = 0;
    uint64_t hash = 0;
    *batch = (struct fleet_batch){.is_borrowed = true};
    char *line = take_line(&reader);
    const bool good = line && !strncmp(line, head, sizeof head - 1) &&
                      sscanf(line + sizeof head - 1, " %zu %" SCNx64, &count, &hash) == 2 &&
                      parse_pieces(batch, &reader, count, hash);
    free(line);
    return good ? 0
                : sprof_error_set(error, SPROF_EFORMAT, 0,
                                  "it is damaged, or of another version of sprof");
}
