/* The language server, driven as an editor drives it. */
#define _GNU_SOURCE
#include <glob.h>
#include <poll.h>
#include <time.h>

#include "tests/unit/files.h"

typedef struct client {
    pid_t pid;
    int to, from;
    char *buffer;
    size_t n, cap;
    int id;
    TP_VEC(struct json_object *) received; /* released at the end */
    tp_arena *arena;
} client;

static client start(void)
{
    int in[2], out[2];
    client c = {.arena = tp_arena_new(0)};
    assert_int_equal(pipe(in), 0);
    assert_int_equal(pipe(out), 0);
    fflush(NULL);
    c.pid = fork();
    if (c.pid == 0) {
        dup2(in[0], 0);
        dup2(out[1], 1);
        close(in[1]);
        close(out[0]);
        execl(TILEPROOF, TILEPROOF, "lsp", (char *)NULL);
        _exit(127);
    }
    close(in[0]);
    close(out[1]);
    c.to = in[1];
    c.from = out[0];
    return c;
}

static int finish(client *c)
{
    int status;
    close(c->to);
    waitpid(c->pid, &status, 0);
    close(c->from);
    free(c->buffer);
    for (uint32_t i = 0; i < c->received.len; i++)
        json_object_put(c->received.at[i]);
    tp_arena_free(c->arena);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static void send_raw(client *c, const char *bytes, size_t n)
{
    while (n) {
        ssize_t wrote = write(c->to, bytes, n);
        assert_true(wrote > 0);
        bytes += wrote;
        n -= (size_t)wrote;
    }
}

static void send_text(client *c, const char *body)
{
    char head[64];
    send_raw(c, head, (size_t)snprintf(head, sizeof head, "Content-Length: %zu\r\n\r\n", strlen(body)));
    send_raw(c, body, strlen(body));
}

/* The next message from the server; it has ten seconds. */
static struct json_object *receive(client *c)
{
    for (;;) {
        char *blank = c->n ? memmem(c->buffer, c->n, "\r\n\r\n", 4) : NULL;
        if (blank) {
            size_t head = (size_t)(blank - c->buffer) + 4, length = 0;
            assert_int_equal(sscanf(c->buffer, "Content-Length: %zu", &length), 1);
            if (c->n >= head + length) {
                struct json_tokener *t = json_tokener_new();
                struct json_object *o = json_tokener_parse_ex(t, c->buffer + head, (int)length);
                json_tokener_free(t);
                assert_non_null(o);
                tp_push(c->arena, c->received, o);
                memmove(c->buffer, c->buffer + head + length, c->n - head - length);
                c->n -= head + length;
                return o;
            }
        }
        if (c->cap - c->n < 65536)
            c->buffer = realloc(c->buffer, c->cap = c->cap * 2 + 131072);
        struct pollfd p = {.fd = c->from, .events = POLLIN};
        assert_true(poll(&p, 1, 60000 * SLOWDOWN) > 0); /* a hang, not a slow machine */
        ssize_t n = read(c->from, c->buffer + c->n, c->cap - c->n);
        assert_true(n > 0);
        c->n += (size_t)n;
    }
}

static void notify(client *c, const char *method, struct json_object *params)
{
    struct json_object *o = json_object_new_object();
    json_object_object_add(o, "jsonrpc", json_object_new_string("2.0"));
    json_object_object_add(o, "method", json_object_new_string(method));
    json_object_object_add(o, "params", params);
    send_text(c, json_object_to_json_string(o));
    json_object_put(o);
}

/* The whole answer; diagnostics that come before it are dropped. */
static struct json_object *request(client *c, const char *method, struct json_object *params)
{
    struct json_object *o = json_object_new_object();
    json_object_object_add(o, "jsonrpc", json_object_new_string("2.0"));
    json_object_object_add(o, "id", json_object_new_int(++c->id));
    json_object_object_add(o, "method", json_object_new_string(method));
    json_object_object_add(o, "params", params);
    send_text(c, json_object_to_json_string(o));
    json_object_put(o);
    for (;;) {
        struct json_object *answer = receive(c), *id = member(answer, "id");
        if (id && json_object_get_int(id) == c->id)
            return answer;
    }
}

static struct json_object *parse(const char *format, ...)
{
    char text[4096];
    va_list ap;
    va_start(ap, format);
    vsnprintf(text, sizeof text, format, ap);
    va_end(ap);
    struct json_object *o = json_tokener_parse(text);
    assert_non_null(o);
    return o;
}

static struct json_object *initialize(client *c, const char *encodings)
{
    struct json_object *a =
        request(c, "initialize", parse("{\"capabilities\": {\"general\": {\"positionEncodings\": %s}}}", encodings));
    notify(c, "initialized", json_object_new_object());
    return a;
}

static void put_text(client *c, const char *uri, const char *text, int version)
{
    struct json_object *params =
        version == 1
            ? parse("{\"textDocument\": {\"uri\": \"%s\", \"languageId\": \"json\", \"version\": 1}}", uri)
            : parse("{\"textDocument\": {\"uri\": \"%s\", \"version\": %d}, \"contentChanges\": [{}]}", uri, version);
    struct json_object *to =
        version == 1 ? member(params, "textDocument") : json_object_array_get_idx(member(params, "contentChanges"), 0);
    json_object_object_add(to, "text", json_object_new_string(text));
    notify(c, version == 1 ? "textDocument/didOpen" : "textDocument/didChange", params);
}

/* Diagnostics for this version. */
static struct json_object *diagnostics(client *c, int version)
{
    for (;;) {
        struct json_object *m = receive(c), *params = member(m, "params");
        if (strcmp(string_of(m, "method"), "textDocument/publishDiagnostics") == 0 &&
            json_object_get_int(member(params, "version")) == version)
            return member(params, "diagnostics");
    }
}

static const char GOOD[] =
    "{\n  \"tileproof\": 1,\n  \"name\": \"copy\",\n  \"target\": \"tpu-v5e\",\n  \"sizes\": {\"M\": {\"max\": 99}},\n"
    "  \"description\": \"\xc3\xa4\xf0\x9f\x98\x80\", \"grid\": [{\"axis\": \"i\", \"steps\": \"cdiv(M, 8)\"}],\n"
    "  \"inputs\": [{\"name\": \"x\", \"dtype\": \"float32\", \"shape\": [\"M\", 128], \"block_shape\": [8, 128], "
    "\"index_map\": [\"i\", 0]}],\n"
    "  \"outputs\": [{\"name\": \"o\", \"dtype\": \"float32\", \"shape\": [\"M\", 128], \"block_shape\": [8, 128], "
    "\"index_map\": [\"i\", 0]}],\n"
    "  \"kernel\": [\"o[...] = x[...]\"]\n}\n";

static char *with(const char *part, const char *other)
{
    static char text[sizeof GOOD + 64];
    const char *at = strstr(GOOD, part);
    assert_non_null(at);
    snprintf(text, sizeof text, "%.*s%s%s", (int)(at - GOOD), GOOD, other, at + strlen(part));
    return text;
}

static void diagnostics_follow_the_text(void **state)
{
    (void)state;
    static const char URI[] = "file:///tmp/a%20b.tile.json";
    client c = start();
    struct json_object *hello = initialize(&c, "[\"utf-16\"]");
    assert_string_equal(string_of(member(member(hello, "result"), "capabilities"), "positionEncoding"), "utf-16");
    put_text(&c, URI, GOOD, 1);
    struct json_object *list = diagnostics(&c, 1);
    assert_int_equal(json_object_array_length(list), 0);
    /* the grid stands behind one unit of two bytes and two of four */
    put_text(&c, URI, with("cdiv(M, 8)", "cdiv(M, 8) + 1"), 2);
    list = diagnostics(&c, 2);
    assert_int_equal(json_object_array_length(list), 2);
    struct json_object *first = json_object_array_get_idx(list, 0), *range = member(first, "range");
    assert_string_equal(string_of(first, "code"), "TP101");
    assert_int_equal(json_object_get_int(member(member(range, "start"), "line")), 6);
    put_text(&c, URI, with("\"steps\"", "\"step\""), 3); /* no valid spec */
    list = diagnostics(&c, 3);
    assert_int_equal(json_object_array_length(list), 1);
    range = member(json_object_array_get_idx(list, 0), "range");
    assert_int_equal(json_object_get_int(member(member(range, "start"), "line")), 5);
    assert_int_equal(json_object_get_int(member(member(range, "start"), "character")), 47);
    put_text(&c, URI, "", 4);
    assert_int_equal(json_object_array_length(diagnostics(&c, 4)), 1);
    for (int v = 5; v < 25; v++) /* typed fast: the last text is what counts */
        put_text(&c, URI, v == 24 ? GOOD : with("cdiv(M, 8)", "cdiv(M, 8) + 1"), v);
    assert_int_equal(json_object_array_length(diagnostics(&c, 24)), 0);
    struct json_object *bye = request(&c, "shutdown", NULL);
    assert_true(json_object_object_get_ex(bye, "result", NULL));
    notify(&c, "exit", NULL);
    assert_int_equal(finish(&c), 0);
}

static void hover_and_actions(void **state)
{
    (void)state;
    static const char URI[] = "file:///k.tile.json";
    client c = start();
    struct json_object *hello = initialize(&c, "[\"utf-8\", \"utf-16\"]");
    assert_string_equal(string_of(member(member(hello, "result"), "capabilities"), "positionEncoding"), "utf-8");
    put_text(&c, URI, GOOD, 1);
    struct json_object *a =
        request(&c, "textDocument/hover",
                parse("{\"textDocument\": {\"uri\": \"%s\"}, \"position\": {\"line\": 6, \"character\": 20}}", URI));
    const char *said = string_of(member(member(a, "result"), "contents"), "value");
    if (!strstr(said, "**`x`** float32[M, 128] in vmem") || !strstr(said, "window 8 × 128 at block i, 0") ||
        !strstr(said, "VMEM: 8192 bytes (2 buffers of 4096), ") ||
        !strstr(said, "fetched 3 times in 3 steps: 3 blocks, one up to 1 time") || !strstr(said, "M = 20"))
        fail_msg("%s", said);
    a = request(&c, "textDocument/hover",
                parse("{\"textDocument\": {\"uri\": \"%s\"}, \"position\": {\"line\": 5, \"character\": 50}}", URI));
    assert_non_null(strstr(string_of(member(member(a, "result"), "contents"), "value"), "cdiv(M, 8) steps"));
    a = request(&c, "textDocument/hover",
                parse("{\"textDocument\": {\"uri\": \"%s\"}, \"position\": {\"line\": 0, \"character\": 0}}", URI));
    assert_null(member(a, "result"));

    char *broken = with("[\"i\", 0]}],\n  \"outputs\"", "[\"i + 1\", 0]}],\n  \"outputs\"");
    put_text(&c, URI, broken, 2);
    a = request(
        &c, "textDocument/codeAction",
        parse("{\"textDocument\": {\"uri\": \"%s\"}, \"range\": {\"start\": {\"line\": 6, \"character\": 0}, \"end\": "
              "{\"line\": 6, \"character\": 200}}, \"context\": {\"diagnostics\": []}}",
              URI));
    struct json_object *actions = member(a, "result"), *action = json_object_array_get_idx(actions, 0);
    assert_int_equal(json_object_array_length(actions), 1);
    assert_string_equal(string_of(action, "title"), "TP101: use `i`");
    struct json_object *edit = json_object_array_get_idx(member(member(member(action, "edit"), "changes"), URI), 0);
    assert_string_equal(string_of(edit, "newText"), "i");
    const char *line = strstr(broken, "  \"inputs\""), *at = strstr(line, "i + 1");
    struct json_object *range = member(edit, "range");
    assert_int_equal(json_object_get_int(member(member(range, "start"), "character")), at - line);
    assert_int_equal(json_object_get_int(member(member(range, "end"), "character")), at - line + 5);

    a = request(&c, "textDocument/formatting", parse("{\"textDocument\": {\"uri\": \"%s\"}, \"options\": {}}", URI));
    assert_int_equal(json_object_array_length(member(a, "result")), 1);
    a = request(&c, "textDocument/definition", parse("{\"textDocument\": {\"uri\": \"%s\"}}", URI));
    assert_int_equal(json_object_get_int(member(member(a, "error"), "code")), -32601);
    notify(&c, "textDocument/didClose", parse("{\"textDocument\": {\"uri\": \"%s\"}}", URI));
    a = request(&c, "textDocument/hover",
                parse("{\"textDocument\": {\"uri\": \"%s\"}, \"position\": {\"line\": 0, \"character\": 0}}", URI));
    assert_null(member(a, "result"));
    assert_int_equal(finish(&c), 1); /* closed without a shutdown */
}

static bool offers(struct json_object *items, const char *label, const char *detail)
{
    for (size_t i = 0; i < json_object_array_length(items); i++) {
        struct json_object *o = json_object_array_get_idx(items, i);
        if (strcmp(string_of(o, "label"), label) == 0)
            return !detail || strstr(string_of(o, "detail"), detail) != NULL;
    }
    return false;
}

static struct json_object *complete_at(client *c, const char *uri, const char *text, const char *word)
{
    unsigned line = 0, column = 0;
    for (const char *at = text; at < strstr(text, word); at++) {
        column = *at == '\n' ? 0 : column + 1;
        line += *at == '\n';
    }
    struct json_object *a =
        request(c, "textDocument/completion",
                parse("{\"textDocument\": {\"uri\": \"%s\"}, \"position\": {\"line\": %u, \"character\": %u}}", uri,
                      line, column));
    return member(a, "result");
}

static void completion_and_words(void **state)
{
    (void)state;
    static const char URI[] = "file:///k.tile.json";
    client c = start();
    initialize(&c, "[\"utf-8\"]");
    char *broken = with("x[...]", "mix(x[...]"); /* names are there while the body is not valid */
    put_text(&c, URI, broken, 1);
    struct json_object *items = complete_at(&c, URI, broken, "mix(");
    assert_true(offers(items, "exp", "jnp.exp(x)") && offers(items, "einsum", "in references"));
    assert_true(offers(items, "M", "size") && offers(items, "i", "grid axis") && offers(items, "o", "output"));
    assert_false(offers(items, "TP101", NULL));
    char *waiver = with("\"kernel\"", "\"allow\": [{\"rule\": \"TP601\", \"reason\": \"small\"}],\n  \"kernel\"");
    put_text(&c, URI, waiver, 2);
    items = complete_at(&c, URI, waiver, "TP601");
    assert_true(offers(items, "TP101", "") && !offers(items, "exp", NULL));
    unsigned line = 0;
    for (const char *at = waiver; at < strstr(waiver, "TP601"); at++)
        line += *at == '\n';
    struct json_object *a = request(
        &c, "textDocument/hover",
        parse("{\"textDocument\": {\"uri\": \"%s\"}, \"position\": {\"line\": %u, \"character\": 24}}", URI, line));
    assert_non_null(strstr(string_of(member(member(a, "result"), "contents"), "value"), "**TP601**"));
    finish(&c);
}

static const char TABLES[] =
    "{\"tileproof\": 1, \"name\": \"t\", \"target\": \"none\", \"sizes\": {\"N\": {\"min\": 1}},\n"
    "\"scalar_prefetch\": [{\"name\": \"at\", \"dtype\": \"int32\", \"shape\": [\"N\"], \"values\": {\"min\": 0}},\n"
    "{\"name\": \"seen\", \"dtype\": \"int32\", \"shape\": [4], \"mutable\": true}],\n"
    "\"contracts\": [{\"id\": \"C1\", \"fact\": \"forall n < N: at[n] < 4\", \"where\": \"N > 1\"}], \"prepare\": "
    "{\"inputs\": "
    "[{\"name\": \"count\", \"dtype\": \"int32\", \"shape\": []}], \"program\": [\"for n in range(N):\", \"    at[n] = "
    "count\"]},\n"
    "\"outputs\": [{\"name\": \"o\", \"dtype\": \"int32\", \"shape\": [1]}],\n"
    "\"kernel\": [\"o[...] = full((1,), 0, int32) + at[0] + seen[1]\"]}\n";

/* What stands at the first `word` of line `line`. */
static const char *hover_at(client *c, const char *uri, const char *text, unsigned line, const char *word)
{
    const char *from = text;
    for (unsigned i = 0; i < line; i++)
        from = strchr(from, '\n') + 1;
    struct json_object *a =
        request(c, "textDocument/hover",
                parse("{\"textDocument\": {\"uri\": \"%s\"}, \"position\": {\"line\": %u, \"character\": %u}}", uri,
                      line, (unsigned)(strstr(from, word) - from)));
    return string_of(member(member(a, "result"), "contents"), "value");
}

static void tables_are_explained(void **state)
{
    (void)state;
    static const char URI[] = "file:///t.tile.json";
    client c = start();
    initialize(&c, "[\"utf-8\"]");
    put_text(&c, URI, TABLES, 1);
    const char *said = hover_at(&c, URI, TABLES, 5, "at[0]");
    if (!strstr(said, "table **`at`**: int32[N], at least 0, computed by") ||
        !strstr(said, "C1: forall n < N: at[n] < 4 where N > 1"))
        fail_msg("%s", said);
    assert_non_null(strstr(hover_at(&c, URI, TABLES, 5, "seen"), "table **`seen`**: int32[4], written by the body"));
    assert_non_null(
        strstr(hover_at(&c, URI, TABLES, 3, "count\""), "table **`count`**: int32, an input of \"prepare\""));
    assert_true(offers(complete_at(&c, URI, TABLES, "at[0]"), "seen", "table"));
    assert_true(offers(complete_at(&c, URI, TABLES, "count\"]"), "count", "input of prepare"));
    finish(&c);
}

/* What is wrong with a body in a file of its own is said where the spec names that file. The file itself is no spec:
 * nothing is said of it, and its words are explained. */
static void bodies_in_files(void **state)
{
    place *p = *state;
    static const char BODY[] = "v = x[...]\no[...] = w * exp(v)\n";
    const char *spec = tp_printf(p->a, "file://%s/k.tile.json", p->dir).p,
               *body = tp_printf(p->a, "file://%s", put(p, "k.tile.py", BODY, sizeof BODY - 1)).p;
    client c = start();
    initialize(&c, "[\"utf-8\"]");
    put_text(&c, spec, with("\"kernel\": [\"o[...] = x[...]\"]", "\"kernel_file\": \"k.tile.py\""), 1);
    struct json_object *list = diagnostics(&c, 1), *first = json_object_array_get_idx(list, 0);
    assert_int_equal(json_object_array_length(list), 1);
    assert_int_equal(json_object_get_int(member(member(member(first, "range"), "start"), "line")), 8);
    if (!strstr(string_of(first, "message"), "k.tile.py:2:10: unknown name `w`"))
        fail_msg("%s", string_of(first, "message"));
    put_text(&c, body, BODY, 1);
    assert_int_equal(json_object_array_length(diagnostics(&c, 1)), 0);
    assert_non_null(strstr(hover_at(&c, body, BODY, 1, "exp"), "jnp.exp(x)"));
    assert_true(offers(complete_at(&c, body, BODY, "exp"), "exp", "jnp.exp(x)"));
    finish(&c);
}

static void hostile_messages(void **state)
{
    (void)state;
    static const struct {
        const char *bytes, *body; /* one of them: a message whole or as its body */
        bool lives;               /* it answers what comes next */
    } ROWS[] = {
        {NULL, "{\"a\":", true},
        {NULL, "[]", true},
        {NULL, "null", true},
        {NULL, "{\"method\":\"textDocument/didOpen\",\"params\":{\"textDocument\":[]}}", true},
        {NULL, "{\"method\":\"textDocument/didChange\",\"params\":{\"contentChanges\":3}}", true},
        {NULL, "{\"method\":\"textDocument/hover\",\"id\":[1],\"params\":{\"position\":{\"line\":-1}}}", true},
        {NULL, "{\"method\":\"textDocument/codeAction\",\"id\":\"x\",\"params\":null}", true},
        {"content-length: 2\r\nContent-Type: x\r\n\r\n{}", NULL, true},
        {"Content-Length: -5\r\n\r\n", NULL, false},
        {"Content-Length: 99999999999999\r\n\r\n", NULL, false},
        {"Hello: 5\r\n\r\n", NULL, false},
        {"", NULL, true},
    };
    for (size_t i = 0; i < sizeof ROWS / sizeof *ROWS; i++) {
        client c = start();
        if (ROWS[i].body)
            send_text(&c, ROWS[i].body);
        else
            send_raw(&c, ROWS[i].bytes, strlen(ROWS[i].bytes));
        if (ROWS[i].lives) {
            struct json_object *a = request(&c, "shutdown", NULL);
            assert_null(member(a, "error"));
        }
        int code = finish(&c);
        if (code != (ROWS[i].lives ? 0 : 1))
            fail_msg("message %zu: exit %d", i, code);
    }
}

/* Every value of a message in turn by values of every type. */
static void send_mutants(client *c, struct json_object *message, struct json_object *at)
{
    static const char *const OTHERS[] = {"null", "[]", "[null]", "{}", "\"x\"", "-1", "1e99", "true", "[[[{}]]]"};
    enum { N = sizeof OTHERS / sizeof *OTHERS };
    bool list = json_object_is_type(at, json_type_array);
    if (!list && !json_object_is_type(at, json_type_object))
        return;
    struct json_object *names = json_object_new_array(), *kept;
    if (!list) {
        json_object_object_foreach (at, key, unused) {
            (void)unused;
            json_object_array_add(names, json_object_new_string(key));
        }
    }
    size_t n = list ? json_object_array_length(at) : json_object_array_length(names);
    for (size_t i = 0; i < n; i++) {
        const char *name = list ? NULL : json_object_get_string(json_object_array_get_idx(names, i));
        kept = json_object_get(list ? json_object_array_get_idx(at, i) : member(at, name));
        for (int k = 0; k <= N; k++) {
            struct json_object *other = k == N ? json_object_get(kept) : json_tokener_parse(OTHERS[k]);
            if (list)
                json_object_array_put_idx(at, i, other);
            else
                json_object_object_add(at, name, other);
            if (k < N && !(name && strcmp(name, "method") == 0))
                send_text(c, json_object_to_json_string(message));
        }
        send_mutants(c, message, kept);
        json_object_put(kept);
    }
    json_object_put(names);
}

static void values_of_any_type(void **state)
{
    (void)state;
    static const char *const MESSAGES[] = {
        "{\"id\":0,\"method\":\"initialize\",\"params\":{\"capabilities\":{\"general\":{\"positionEncodings\":["
        "\"utf-8\"]}}}}",
        "{\"method\":\"textDocument/didOpen\",\"params\":{\"textDocument\":{\"uri\":\"u\",\"version\":1,\"text\":"
        "\"\"}}}",
        "{\"method\":\"textDocument/didChange\",\"params\":{\"textDocument\":{\"uri\":\"u\",\"version\":2},"
        "\"contentChanges\":[{\"text\":\"{}\"}]}}",
        "{\"id\":0,\"method\":\"textDocument/hover\",\"params\":{\"textDocument\":{\"uri\":\"u\"},\"position\":{"
        "\"line\":0,\"character\":0}}}",
        "{\"id\":0,\"method\":\"textDocument/codeAction\",\"params\":{\"textDocument\":{\"uri\":\"u\"},\"range\":{"
        "\"start\":{\"line\":0,\"character\":0},\"end\":{\"line\":0,\"character\":9}}}}",
        "{\"id\":0,\"method\":\"textDocument/formatting\",\"params\":{\"textDocument\":{\"uri\":\"u\"}}}",
        "{\"method\":\"$/cancelRequest\",\"params\":{\"id\":0}}",
        "{\"method\":\"textDocument/didClose\",\"params\":{\"textDocument\":{\"uri\":\"u\"}}}",
    };
    for (size_t i = 0; i < sizeof MESSAGES / sizeof *MESSAGES; i++) {
        client c = start();
        struct json_object *message = parse("%s", MESSAGES[i]);
        put_text(&c, "u", GOOD, 1);
        send_mutants(&c, message, message);
        c.id = 100;
        struct json_object *a = request(&c, "shutdown", NULL);
        assert_null(member(a, "error"));
        json_object_put(message);
        assert_int_equal(finish(&c), 0);
    }
}

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

enum { PROMPT_MS = 100 * SLOWDOWN };

/* The rest of an editor goes on while the slowest kernel of the gallery is checked. */
static void nothing_waits_for_a_check(void **state)
{
    (void)state;
    static const char SLOW[] = "file:///slow.tile.json",
                      HOVER[] = "{\"textDocument\": {\"uri\": \"%s\"}, \"position\": {\"line\": 6, \"character\": 20}}";
    tp_arena *a = tp_arena_new(0);
    tp_str text, why;
    double worst = 0, from;
    assert_int_equal(tp_read_file(a, "examples/matmul/grouped_matmul.tile.json", 1 << 20, &text, &why), TP_OK);
    client c = start();
    initialize(&c, "[\"utf-8\"]");
    put_text(&c, "u", GOOD, 1);
    diagnostics(&c, 1);
    for (int v = 1; v <= 12; v++) { /* typed while it is checked */
        from = now();
        put_text(&c, SLOW, tp_cstr(a, text), v);
        request(&c, v % 2 ? "none" : "textDocument/hover", parse(HOVER, "u"));
        worst = now() - from > worst ? now() - from : worst;
        nanosleep(&(struct timespec){.tv_nsec = 20000000}, NULL);
    }
    if (worst > PROMPT_MS)
        fail_msg("a keystroke took %.0f ms", worst);
    struct json_object *ask = parse("{\"jsonrpc\": \"2.0\", \"id\": 900, \"method\": \"textDocument/codeAction\"}"),
                       *answer;
    json_object_object_add(ask, "params", parse(HOVER, SLOW));
    send_text(&c, json_object_to_json_string(ask));
    json_object_put(ask);
    from = now();
    notify(&c, "$/cancelRequest", parse("{\"id\": 900}"));
    do
        answer = receive(&c);
    while (!member(answer, "id"));
    assert_int_equal(json_object_get_int(member(answer, "id")), 900);
    assert_int_equal(json_object_get_int(member(member(answer, "error"), "code")), -32800);
    assert_true(now() - from < PROMPT_MS);
    print_message("lsp: the slowest keystroke beside a check took %.1f ms\n", worst);
    finish(&c);
    tp_arena_free(a);
}

/* How long diagnostics take, on every kernel of the gallery: printed, and judged by `make bench`. */
static void latency_is_printed(void **state)
{
    (void)state;
    client c = start();
    glob_t g;
    double worst = 0;
    const char *slowest = "";
    initialize(&c, "[\"utf-8\"]");
    assert_int_equal(glob("examples/*/*.tile.json", 0, NULL, &g), 0);
    for (size_t i = 0; i < g.gl_pathc; i++) {
        tp_arena *a = tp_arena_new(0);
        tp_str text, why;
        struct timespec from, to;
        char uri[512];
        snprintf(uri, sizeof uri, "file:///%s", g.gl_pathv[i]);
        assert_int_equal(tp_read_file(a, g.gl_pathv[i], 1 << 20, &text, &why), TP_OK);
        clock_gettime(CLOCK_MONOTONIC, &from);
        put_text(&c, uri, tp_cstr(a, text), 1);
        diagnostics(&c, 1);
        clock_gettime(CLOCK_MONOTONIC, &to);
        double ms = (double)(to.tv_sec - from.tv_sec) * 1e3 + (double)(to.tv_nsec - from.tv_nsec) / 1e6;
        if (ms > worst) {
            worst = ms;
            slowest = g.gl_pathv[i];
        }
        tp_arena_free(a);
    }
    print_message("lsp: %zu specs, slowest diagnostics %.1f ms (%s)\n", g.gl_pathc, worst, slowest);
    globfree(&g);
    finish(&c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(diagnostics_follow_the_text),
        cmocka_unit_test(hover_and_actions),
        cmocka_unit_test(completion_and_words),
        cmocka_unit_test(tables_are_explained),
        IN_PLACE(bodies_in_files),
        cmocka_unit_test(hostile_messages),
        cmocka_unit_test(values_of_any_type),
        cmocka_unit_test(nothing_waits_for_a_check),
        cmocka_unit_test(latency_is_printed),
    };
    return cmocka_run_group_tests_name("lsp", tests, NULL, NULL);
}
