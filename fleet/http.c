/* Posts requests by libcurl. */
#include "fleet/http.h"

#include "fleet/credentials.h"
#include "fleet/curl.h"

#include <errno.h>
#include <string.h>

enum { TEXT_MAX = 1 << 16, CONNECT_S = 10, SILENT_S = 30 };
static const uint64_t out_max = UINT64_C(8) << 30;
static const char agent[] = "sprof";

struct fleet_http {
    struct fleet_curl curl;
    struct fleet_credentials credentials;
    CURL *easy;
    char problem[CURL_ERROR_SIZE];
};

/* What arrives. */
struct arriving {
    struct fleet_http *http;
    const struct fleet_request *request;
    struct fleet_answer *answer;
    uint64_t bytes;
    int result; /* of writing */
};

int fleet_http_open(struct fleet_http **http, const char *file, struct sprof_error *error)
{
    *http = calloc(1, sizeof **http);
    if (!*http)
        return sprof_error_memory(error);
    int result = fleet_credentials_read(&(*http)->credentials, file, error);
    if (!result)
        result = fleet_curl_load(&(*http)->curl, error);
    if (!result && !((*http)->easy = (*http)->curl.curl_easy_init()))
        result = sprof_error_memory(error);
    if (result) {
        fleet_http_free(*http);
        *http = NULL;
    }
    return result;
}

void fleet_http_free(struct fleet_http *http)
{
    if (!http)
        return;
    if (http->easy)
        http->curl.curl_easy_cleanup(http->easy);
    fleet_credentials_release(&http->credentials);
    free(http);
}

static long status_of(const struct fleet_http *http)
{
    long status = 0;
    http->curl.curl_easy_getinfo(http->easy, CURLINFO_RESPONSE_CODE, &status);
    return status;
}

static size_t take_bytes(char *bytes, size_t size, size_t count, void *context)
{
    struct arriving *arriving = context;
    struct sprof_str *text = &arriving->answer->text;
    const size_t length = size * count;
    arriving->bytes += length;
    if (arriving->request->out && status_of(arriving->http) == 200) {
        if (arriving->bytes > out_max)
            arriving->result = SPROF_ELIMIT;
        else if (fwrite(bytes, 1, length, arriving->request->out) != length)
            arriving->result = errno == ENOSPC ? SPROF_EFULL : SPROF_EIO;
    } else if (text->length < TEXT_MAX) {
        const size_t room = TEXT_MAX - text->length;
        arriving->result = sprof_str_append_bytes(text, bytes, length < room ? length : room);
    }
    return arriving->result ? 0 : length;
}

/* The first line of an answer, without what a terminal would obey. */
static void put_line(char *to, size_t size, const char *text)
{
    size_t at = 0;
    for (; text && *text && *text != '\n' && at + 1 < size; text++)
        to[at++] = (char)((unsigned char)*text < ' ' || *text == 0x7f ? ' ' : *text);
    to[at] = '\0';
}

static void set_options(struct fleet_http *http, const struct fleet_request *request,
                        struct arriving *arriving, struct curl_slist *headers)
{
    const struct fleet_curl *curl = &http->curl;
    const struct fleet_credentials *credentials = &http->credentials;
    CURL *easy = http->easy;
    curl->curl_easy_setopt(easy, CURLOPT_URL, request->url);
    curl->curl_easy_setopt(easy, CURLOPT_POST, 1L);
    curl->curl_easy_setopt(easy, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)request->body.size);
    curl->curl_easy_setopt(easy, CURLOPT_POSTFIELDS,
                           request->body.size ? (const char *)request->body.data : "");
    curl->curl_easy_setopt(easy, CURLOPT_HTTPHEADER, headers);
    curl->curl_easy_setopt(easy, CURLOPT_USERAGENT, agent);
    curl->curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L);
    curl->curl_easy_setopt(easy, CURLOPT_FOLLOWLOCATION, 0L);
    /* On a connection of an earlier request libcurl may send again by itself, unseen. */
    curl->curl_easy_setopt(easy, CURLOPT_FRESH_CONNECT, 1L);
    curl->curl_easy_setopt(easy, CURLOPT_FORBID_REUSE, 1L);
    curl->curl_easy_setopt(easy, CURLOPT_ERRORBUFFER, http->problem);
    curl->curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, take_bytes);
    curl->curl_easy_setopt(easy, CURLOPT_WRITEDATA, arriving);
    curl->curl_easy_setopt(easy, CURLOPT_CONNECTTIMEOUT, (long)CONNECT_S);
    curl->curl_easy_setopt(easy, CURLOPT_LOW_SPEED_LIMIT, 1L);
    curl->curl_easy_setopt(easy, CURLOPT_LOW_SPEED_TIME, (long)SILENT_S);
    curl->curl_easy_setopt(easy, CURLOPT_TIMEOUT_MS, (long)(request->timeout_ns / 1000000));
    if (credentials->ca)
        curl->curl_easy_setopt(easy, CURLOPT_CAINFO, credentials->ca);
    if (credentials->token) {
        curl->curl_easy_setopt(easy, CURLOPT_HTTPAUTH, (long)CURLAUTH_BEARER);
        curl->curl_easy_setopt(easy, CURLOPT_XOAUTH2_BEARER, credentials->token);
    } else if (credentials->user) {
        curl->curl_easy_setopt(easy, CURLOPT_HTTPAUTH, (long)CURLAUTH_BASIC);
        curl->curl_easy_setopt(easy, CURLOPT_USERNAME, credentials->user);
        curl->curl_easy_setopt(easy, CURLOPT_PASSWORD,
                               credentials->password ? credentials->password : "");
    }
}

static int add_header(const struct fleet_http *http, struct curl_slist **headers, const char *name,
                      const char *value)
{
    struct sprof_str line = {0};
    struct curl_slist *longer = NULL;
    if (!value)
        return 0;
    if (!sprof_str_appendf(&line, "%s%s", name, value))
        longer = http->curl.curl_slist_append(*headers, line.text);
    sprof_str_release(&line);
    *headers = longer ? longer : *headers;
    return longer ? 0 : SPROF_ENOMEM;
}

static int make_headers(const struct fleet_http *http, const struct fleet_request *request,
                        struct curl_slist **headers)
{
    int result = add_header(http, headers, "Expect:", ""); /* the body follows at once */
    if (!result)
        result = add_header(http, headers, "Content-Type: ",
                            request->type ? request->type : "application/octet-stream");
    if (!result)
        result = add_header(http, headers, "Content-Encoding: ", request->is_gzip ? "gzip" : NULL);
    if (!result)
        result = add_header(http, headers, "X-Scope-OrgID: ", http->credentials.tenant);
    return result ? result : add_header(http, headers, "", request->more);
}

/* The certificate, not the moment, is at fault. */
static bool is_final(CURLcode code)
{
    return code == CURLE_PEER_FAILED_VERIFICATION || code == CURLE_SSL_CACERT_BADFILE ||
           code == CURLE_SSL_CERTPROBLEM || code == CURLE_SSL_ISSUER_ERROR ||
           code == CURLE_URL_MALFORMAT;
}

/* CURLE_TOO_LARGE, of libcurl since 8.6. */
enum { TOO_LARGE = 100 };

/* Of a line of the answer's header that is too long libcurl says that memory ran out, or since 8.6
 * that something is too large. */
static bool is_long_header(const struct fleet_http *http, CURLcode code)
{
    double began_s = 0;
    curl_off_t body_bytes = 0;
    if ((int)code != TOO_LARGE && code != CURLE_OUT_OF_MEMORY)
        return false;
    http->curl.curl_easy_getinfo(http->easy, CURLINFO_STARTTRANSFER_TIME, &began_s);
    http->curl.curl_easy_getinfo(http->easy, CURLINFO_SIZE_DOWNLOAD_T, &body_bytes);
    return began_s > 0 && body_bytes == 0;
}

static void describe(const struct fleet_http *http, CURLcode code, struct fleet_answer *answer)
{
    curl_off_t wait_s = 0;
    char *location = NULL, line[256];
    answer->status = code ? 0 : status_of(http);
    answer->is_final = is_final(code);
    if (code) {
        put_line(line, sizeof line,
                 is_long_header(http, code) ? "the header of its answer is too long"
                 : *http->problem           ? http->problem
                                            : http->curl.curl_easy_strerror(code));
        snprintf(answer->problem, sizeof answer->problem, "%s", line);
        return;
    }
    http->curl.curl_easy_getinfo(http->easy, CURLINFO_RETRY_AFTER, &wait_s);
    if (wait_s > 0 && wait_s < 3600)
        answer->retry_after_ns = (uint64_t)wait_s * 1000000000;
    if (answer->status >= 200 && answer->status < 300)
        return;
    http->curl.curl_easy_getinfo(http->easy, CURLINFO_REDIRECT_URL, &location);
    put_line(line, sizeof line, location ? location : answer->text.text);
    snprintf(answer->problem, sizeof answer->problem, "it answers %ld%s%s", answer->status,
             location ? ", and that it moved to "
             : *line  ? ": "
                      : "",
             line);
}

int fleet_http_post(struct fleet_http *http, const struct fleet_request *request,
                    struct fleet_answer *answer, struct sprof_error *error)
{
    struct arriving arriving = {.http = http, .request = request, .answer = answer};
    struct curl_slist *headers = NULL;
    *answer = (struct fleet_answer){.status = 0};
    http->problem[0] = '\0';
    if (make_headers(http, request, &headers)) {
        http->curl.curl_slist_free_all(headers);
        return sprof_error_memory(error);
    }
    set_options(http, request, &arriving, headers);
    const CURLcode code = http->curl.curl_easy_perform(http->easy);
    describe(http, code, answer);
    http->curl.curl_slist_free_all(headers);
    if ((code == CURLE_OUT_OF_MEMORY && !is_long_header(http, code)) ||
        arriving.result == SPROF_ENOMEM)
        return sprof_error_memory(error);
    if (arriving.result == SPROF_ELIMIT)
        return sprof_error_set(error, SPROF_ELIMIT, 0, "the answer has more than 8 GiB");
    if (arriving.result)
        return sprof_error_set(error, arriving.result, errno, "cannot write the answer down: %s",
                               strerror(errno));
    return 0;
}

int fleet_url_add(struct sprof_str *url, const char *name, const char *value)
{
    static const char plain[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~";
    int result = sprof_str_appendf(url, "%c%s=", strchr(url->text, '?') ? '&' : '?', name);
    for (const char *byte = value; *byte && !result; byte++)
        result = strchr(plain, *byte)
                     ? sprof_str_append_bytes(url, byte, 1)
                     : sprof_str_appendf(url, "%%%02X", (unsigned)(unsigned char)*byte);
    return result;
}
