/* Makes statements from tables of columns, and binds rows to them. */
#include "store/statement.h"

#include "base/base.h"

#include <stdio.h>
#include <string.h>

/* == Fields == */

static uint64_t load_unsigned(const void *field, size_t size)
{
    uint64_t value = 0;
    memcpy(&value, field, size); /* little endian, as all machines sprof runs on */
    return value;
}

static int64_t load_signed(const void *field, size_t size)
{
    const unsigned shift = (unsigned)(64 - 8 * size);
    return (int64_t)(load_unsigned(field, size) << shift) >> shift;
}

static const char *load_text(const void *field)
{
    const char *text;
    memcpy(&text, field, sizeof text);
    return text;
}

static struct sprof_bytes load_bytes(const void *field)
{
    struct sprof_bytes bytes;
    memcpy(&bytes, field, sizeof bytes);
    return bytes;
}

static uint64_t count_words(const char *const *words)
{
    uint64_t count = 0;
    while (words[count])
        count++;
    return count;
}

/* == Binding == */

static int bind_number(sqlite3_stmt *statement, int index, const struct store_column *column,
                       const void *field)
{
    uint64_t value = load_unsigned(field, column->size);
    if (column->or_null && !value)
        return sqlite3_bind_null(statement, index);
    if (column->type == STORE_NUMBER && value > INT64_MAX)
        value = INT64_MAX;
    return sqlite3_bind_int64(statement, index, (sqlite3_int64)value);
}

static int bind_real(sqlite3_stmt *statement, int index, const struct store_column *column,
                     const void *field)
{
    double value;
    memcpy(&value, field, sizeof value);
    return column->or_null && value == 0 ? sqlite3_bind_null(statement, index)
                                         : sqlite3_bind_double(statement, index, value);
}

static int bind_bytes(sqlite3_stmt *statement, int index, const struct store_column *column,
                      const void *field)
{
    struct sprof_bytes bytes = load_bytes(field);
    if (column->or_null && !bytes.size)
        return sqlite3_bind_null(statement, index);
    if (column->type == STORE_HEX && bytes.size > sizeof((struct store_cursor *)NULL)->bytes)
        bytes.size = sizeof((struct store_cursor *)NULL)->bytes; /* what a reader takes */
    return sqlite3_bind_blob64(statement, index, bytes.size ? (const void *)bytes.data : "",
                               bytes.size, SQLITE_STATIC);
}

static int bind_word(sqlite3_stmt *statement, int index, const struct store_column *column,
                     const void *field)
{
    const uint64_t number = load_unsigned(field, column->size);
    return number < count_words(column->words)
               ? sqlite3_bind_int64(statement, index, (sqlite3_int64)number)
               : sqlite3_bind_null(statement, index);
}

static int bind_name(sqlite3_stmt *statement, int index, const struct store_column *column,
                     const void *field)
{
    const char *name = load_text(field);
    for (int i = 0; name && column->words[i]; i++)
        if (!strcmp(column->words[i], name))
            return sqlite3_bind_int(statement, index, i);
    /* A text that is none of them is refused by the table, whose columns are strict. */
    return sqlite3_bind_text(statement, index, name, -1, SQLITE_STATIC);
}

static int bind_packed(sqlite3_stmt *statement, int index, const struct store_column *column,
                       const void *row)
{
    const uint64_t number = column->packing->pack(row);
    return number == STORE_UNPACKABLE ? sqlite3_bind_null(statement, index)
                                      : sqlite3_bind_int64(statement, index, (sqlite3_int64)number);
}

static int bind(sqlite3_stmt *statement, int index, const struct store_column *column,
                const void *field)
{
    switch ((enum store_column_type)column->type) {
    case STORE_NUMBER:
    case STORE_BITS:
    case STORE_BOOL: return bind_number(statement, index, column, field);
    case STORE_SIGNED:
        return sqlite3_bind_int64(statement, index, load_signed(field, column->size));
    case STORE_TEXT:
        return sqlite3_bind_text(statement, index, load_text(field), -1, SQLITE_STATIC);
    case STORE_WORD: return bind_word(statement, index, column, field);
    case STORE_NAME: return bind_name(statement, index, column, field);
    case STORE_HEX:
    case STORE_BLOB: return bind_bytes(statement, index, column, field);
    case STORE_REAL: return bind_real(statement, index, column, field);
    case STORE_PACKED: return bind_packed(statement, index, column, field);
    }
    return SQLITE_MISUSE;
}

/* == Writing == */

/* (?1, ?2), (?3, ?4), … */
static void append_values(struct sprof_str *sql, const struct store_table *table, size_t rows)
{
    for (size_t i = 0; i < rows * table->count; i++) {
        const size_t column = i % table->count;
        const bool hex = table->columns[column].type == STORE_HEX;
        sprof_str_append(sql, column ? ", " : i ? "), (" : "(");
        sprof_str_appendf(sql, hex ? "nullif(lower(hex(?%zu)), '')" : "?%zu", i + 1);
    }
    sprof_str_append(sql, ")");
}

/* INSERT INTO "t" ("a", "b") VALUES (?1, ?2), … ON CONFLICT (a) DO UPDATE SET
 * "a" = excluded."a", … */
static void make_insert(struct sprof_str *sql, const struct store_table *table, size_t rows,
                        bool only_new)
{
    sprof_str_appendf(sql, "INSERT INTO \"%s\" (", table->name);
    for (size_t i = 0; i < table->count; i++)
        sprof_str_appendf(sql, "%s\"%s\"", i ? ", " : "", table->columns[i].name);
    sprof_str_append(sql, ") VALUES ");
    append_values(sql, table, rows);
    if (only_new)
        return;
    sprof_str_appendf(sql, " ON CONFLICT (%s) DO UPDATE SET ", table->key);
    for (size_t i = 0; i < table->count; i++)
        sprof_str_appendf(sql, "%s\"%s\" = excluded.\"%s\"", i ? ", " : "", table->columns[i].name,
                          table->columns[i].name);
}

/* Prepares `given`, or where that is NULL what was made, which is released. */
static int prepare(struct store *store, const char *given, struct sprof_str *made,
                   sqlite3_stmt **statement, struct sprof_error *error)
{
    const int status = made->failed
                           ? sprof_error_memory(error)
                           : store_prepare(store, given ? given : made->text, statement, error);
    sprof_str_release(made);
    return status;
}

static int put_rows(struct store *store, sqlite3_stmt *statement, const struct store_table *table,
                    const char *rows, size_t count, struct sprof_error *error)
{
    int result = SQLITE_OK;
    for (size_t i = 0; i < count * table->count && result == SQLITE_OK; i++) {
        const struct store_column *column = &table->columns[i % table->count];
        const char *row = rows + i / table->count * table->row_size;
        result = bind(statement, (int)i + 1, column, row + column->offset);
    }
    if (result == SQLITE_OK)
        result = sqlite3_step(statement);
    const int status = result == SQLITE_DONE ? 0 : store_fail(store, error);
    sqlite3_reset(statement);
    return status;
}

static int prepare_put(struct store *store, const struct store_table *table, size_t rows,
                       sqlite3_stmt **statement, struct sprof_error *error)
{
    struct sprof_str made = {0};
    if (*statement)
        return 0;
    if (!table->write)
        make_insert(&made, table, rows, store->only_new);
    return prepare(store, table->write, &made, statement, error);
}

int store_put(struct store *store, enum store_table_id id, const void *rows, size_t count,
              struct sprof_error *error)
{
    const struct store_table *table = store_table(id);
    const char *row = rows;
    const size_t several = table->write ? 0 : count / STORE_ROWS_AT_ONCE;
    const size_t single = count - several * STORE_ROWS_AT_ONCE;
    int status = 0;
    if (several)
        status = prepare_put(store, table, STORE_ROWS_AT_ONCE, &store->insert_several[id], error);
    for (size_t i = 0; i < several && !status; i++, row += STORE_ROWS_AT_ONCE * table->row_size)
        status = put_rows(store, store->insert_several[id], table, row, STORE_ROWS_AT_ONCE, error);
    if (single && !status)
        status = prepare_put(store, table, 1, &store->insert[id], error);
    for (size_t i = 0; i < single && !status; i++, row += table->row_size)
        status = put_rows(store, store->insert[id], table, row, 1, error);
    return status;
}

/* == Reading == */

static void make_select(struct sprof_str *sql, const struct store_table *table,
                        const char *condition)
{
    for (size_t i = 0; i < table->count; i++)
        sprof_str_appendf(sql, "%s\"%s\"", i ? ", " : "SELECT ", table->columns[i].name);
    sprof_str_appendf(sql, " FROM \"%s\"", table->name);
    if (condition)
        sprof_str_appendf(sql, " WHERE %s", condition);
    sprof_str_appendf(sql, " ORDER BY %s", table->order);
}

int store_cursor_open(struct store_cursor *cursor, struct store *store, enum store_table_id id,
                      uint32_t run_id, struct sprof_error *error)
{
    const struct store_table *table = store_table(id);
    *cursor = (struct store_cursor){.store = store, .table = table, .error = error};
    struct sprof_str made = {0};
    if (!table->read)
        make_select(&made, table, run_id ? table->of_run : NULL);
    const int status = prepare(store, table->read, &made, &cursor->statement, error);
    if (status)
        return status;
    if (sqlite3_bind_parameter_count(cursor->statement) &&
        sqlite3_bind_int64(cursor->statement, 1, run_id) != SQLITE_OK)
        return store_fail(store, error);
    return 0;
}

int store_cursor_open_where(struct store_cursor *cursor, struct store *store,
                            enum store_table_id id, const char *condition,
                            struct sprof_error *error)
{
    const struct store_table *table = store_table(id);
    *cursor = (struct store_cursor){.store = store, .table = table, .error = error};
    struct sprof_str made = {0};
    make_select(&made, table, condition);
    return prepare(store, NULL, &made, &cursor->statement, error);
}

uint64_t store_cursor_content(const struct store_cursor *cursor)
{
    const int columns = sqlite3_column_count(cursor->statement);
    uint64_t content = 0;
    for (int i = 0; i < columns; i++) {
        const int type = sqlite3_column_type(cursor->statement, i);
        uint64_t value = (uint64_t)sqlite3_column_int64(cursor->statement, i);
        if (type == SQLITE_TEXT || type == SQLITE_BLOB) {
            const void *bytes = sqlite3_column_blob(cursor->statement, i);
            value = sprof_hash_bytes(bytes, (size_t)sqlite3_column_bytes(cursor->statement, i));
        }
        content = sprof_hash_pair(sprof_hash_pair(content, (uint64_t)type), value);
    }
    return content;
}

void store_cursor_close(struct store_cursor *cursor)
{
    sqlite3_finalize(cursor->statement);
}

/* Each takes one column of the current row into a field; false where its value is impossible. */

static bool take_integer(sqlite3_stmt *statement, int index, const struct store_column *column,
                         void *field)
{
    if (sqlite3_column_type(statement, index) != SQLITE_INTEGER)
        return false;
    const int64_t value = sqlite3_column_int64(statement, index);
    const unsigned bits = 8u * column->size;
    int64_t low = 0, high = column->type == STORE_BOOL ? 1 : INT64_MAX;
    if (column->type == STORE_NUMBER && bits < 64)
        high = (INT64_C(1) << bits) - 1;
    if (column->type == STORE_SIGNED && bits < 64)
        high = (INT64_C(1) << (bits - 1)) - 1;
    if (column->type == STORE_SIGNED || column->type == STORE_BITS)
        low = -high - 1;
    memcpy(field, &value, column->size);
    return value >= low && value <= high;
}

static bool take_text(sqlite3_stmt *statement, int index, void *field)
{
    if (sqlite3_column_type(statement, index) != SQLITE_TEXT)
        return false;
    const char *text = (const char *)sqlite3_column_text(statement, index);
    memcpy(field, &text, sizeof text);
    return text != NULL;
}

static bool take_word(sqlite3_stmt *statement, int index, const struct store_column *column,
                      void *field)
{
    if (sqlite3_column_type(statement, index) != SQLITE_INTEGER)
        return false;
    const uint64_t number = (uint64_t)sqlite3_column_int64(statement, index);
    if (number >= count_words(column->words))
        return false;
    if (column->type == STORE_NAME)
        memcpy(field, &column->words[number], sizeof column->words[number]);
    else
        memcpy(field, &number, column->size);
    return true;
}

static bool take_real(sqlite3_stmt *statement, int index, void *field)
{
    const double value = sqlite3_column_double(statement, index);
    memcpy(field, &value, sizeof value);
    return sqlite3_column_type(statement, index) == SQLITE_FLOAT;
}

static bool take_blob(sqlite3_stmt *statement, int index, void *field)
{
    struct sprof_bytes bytes = {sqlite3_column_blob(statement, index), 0};
    if (bytes.data)
        bytes.size = (size_t)sqlite3_column_bytes(statement, index);
    memcpy(field, &bytes, sizeof bytes);
    return sqlite3_column_type(statement, index) == SQLITE_BLOB;
}

static int hex_digit(char digit)
{
    static const char digits[] = "0123456789abcdef";
    const char *found = digit ? strchr(digits, digit) : NULL;
    return found ? (int)(found - digits) : -1;
}

static bool take_hex(struct store_cursor *cursor, int index, void *field)
{
    const char *text;
    if (!take_text(cursor->statement, index, &text))
        return false;
    struct sprof_bytes bytes = {cursor->bytes, strlen(text) / 2};
    if (strlen(text) % 2 || bytes.size > sizeof cursor->bytes)
        return false;
    for (size_t i = 0; i < bytes.size; i++) {
        const int high = hex_digit(text[2 * i]), low = hex_digit(text[2 * i + 1]);
        if (high < 0 || low < 0)
            return false;
        cursor->bytes[i] = (uint8_t)(high << 4 | low);
    }
    memcpy(field, &bytes, sizeof bytes);
    return true;
}

static bool take(struct store_cursor *cursor, int index, const struct store_column *column,
                 void *field)
{
    sqlite3_stmt *statement = cursor->statement;
    if (column->or_null && sqlite3_column_type(statement, index) == SQLITE_NULL)
        return true; /* the field is zero already */
    switch ((enum store_column_type)column->type) {
    case STORE_NUMBER:
    case STORE_SIGNED:
    case STORE_BITS:
    case STORE_BOOL: return take_integer(statement, index, column, field);
    case STORE_REAL: return take_real(statement, index, field);
    case STORE_TEXT: return take_text(statement, index, field);
    case STORE_WORD:
    case STORE_NAME: return take_word(statement, index, column, field);
    case STORE_HEX: return take_hex(cursor, index, field);
    case STORE_BLOB: return take_blob(statement, index, field);
    case STORE_PACKED:
        return sqlite3_column_type(statement, index) == SQLITE_INTEGER &&
               column->packing->unpack(field, (uint64_t)sqlite3_column_int64(statement, index));
    }
    return false;
}

int store_cursor_next(struct store_cursor *cursor, void *row)
{
    const struct store_table *table = cursor->table;
    const int stepped = sqlite3_step(cursor->statement);
    if (stepped == SQLITE_DONE)
        return 1;
    if (stepped != SQLITE_ROW)
        return store_fail(cursor->store, cursor->error);
    memset(row, 0, table->row_size);
    for (size_t i = 0; i < table->count; i++) {
        const struct store_column *column = &table->columns[i];
        if (take(cursor, (int)i, column, (char *)row + column->offset))
            continue;
        char what[128];
        snprintf(what, sizeof what, "column %s of %s holds an impossible value", column->name,
                 table->name);
        return store_fail_damaged(cursor->store, what, cursor->error);
    }
    if (table->possible && !table->possible(row))
        return store_fail_damaged(cursor->store, table->name, cursor->error);
    return 0;
}
