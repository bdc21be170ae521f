#define _XOPEN_SOURCE 700
#include <errno.h>
#include <dirent.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "cli/cli.h"

typedef struct sentence {
    tp_arena *arena;
    FILE *out;
    const char *before;
    tp_str text;
} sentence;

static void say_now(void *arg)
{
    const sentence *s = arg;
    fprintf(s->out, "%s%.*s\n", s->before,
            TP_FMT(s->before[0] ? tp_visible(s->arena, s->text) : tp_visible_line(s->arena, s->text)));
}

/* Where memory is out, what needs none: in ASCII. */
static void say_plainly(FILE *out, const char *before, char *text)
{
    for (char *c = text; *c; c++)
        *c = *c < ' ' || *c > '~' ? '?' : *c;
    fprintf(out, "%s%s\n", before, text);
}

__attribute__((format(printf, 3, 0))) static void say(FILE *out, const char *before, const char *fmt, va_list ap)
{
    char few[512], *text = few;
    va_list again;
    va_copy(again, ap);
    int n = vsnprintf(few, sizeof few, fmt, ap);
    if (n >= (int)sizeof few && (text = malloc((size_t)n + 1)))
        vsnprintf(text, (size_t)n + 1, fmt, again);
    va_end(again);
    text = text ? text : few; /* cut off */
    sentence s = {tp_arena_new(0), out, before, tp_str_c(text)};
    if (!s.arena || tp_try(s.arena, say_now, &s) != TP_OK)
        say_plainly(out, before, text);
    tp_arena_free(s.arena);
    if (text != few)
        free(text);
}

void tp_say(FILE *out, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    say(out, "", fmt, ap);
    va_end(ap);
}

int tp_usage_error(const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    say(stderr, "tileproof: ", fmt, ap);
    va_end(ap);
    return TP_EXIT_USAGE;
}

tp_str tp_option(const tp_strings *values, const char *otherwise)
{
    return values->len ? values->at[values->len - 1] : tp_str_c(otherwise);
}

bool tp_option_number(const tp_strings *values, const char *name, int64_t lo, int64_t hi, int64_t otherwise,
                      int64_t *out)
{
    *out = otherwise;
    if (!values->len)
        return true;
    tp_str s = tp_option(values, "");
    char *end, text[32];
    snprintf(text, sizeof text, "%.*s", TP_FMT(s));
    errno = 0;
    long long v = strtoll(text, &end, 10);
    if (s.n == 0 || s.n > 20 || *end || errno == ERANGE || v < lo || v > hi) {
        tp_usage_error("--%s takes an integer from %lld to %lld, not `%.*s`", name, (long long)lo, (long long)hi,
                       TP_FMT(s));
        return false;
    }
    *out = v;
    return true;
}

bool tp_split_binding(tp_str s, tp_str *name, tp_str *value)
{
    const char *equals = memchr(s.p, '=', s.n);
    if (!equals)
        return false;
    *name = (tp_str){s.p, (size_t)(equals - s.p)};
    *value = (tp_str){equals + 1, s.n - name->n - 1};
    return name->n && value->n;
}

bool tp_option_bindings(const tp_strings *values, const char *option, const char *example, int64_t most,
                        tp_binding *out)
{
    for (uint32_t i = 0; i < values->len; i++) {
        tp_str value;
        tp_strings one = {.at = &value, .len = 1};
        if (!tp_split_binding(values->at[i], &out[i].name, &value)) {
            tp_usage_error("--%s takes NAME=VALUE, e.g. --%s %s, not `%.*s`", option, option, example,
                           TP_FMT(values->at[i]));
            return false;
        }
        if (!tp_option_number(&one, option, 0, most, 0, &out[i].value))
            return false;
    }
    return true;
}

bool tp_option_sizes(const tp_cli *c, int64_t most, tp_binding *sizes)
{
    return tp_option_bindings(&c->size, "size", "M=300", most, sizes);
}

tp_str tp_option_sizes_wrong(const tp_cli *c, const tp_binding *sizes, const tp_kernel *k)
{
    for (uint32_t i = 0; i < c->size.len; i++) {
        const tp_size *s = tp_size_find(k, sizes[i].name);
        if (!s || !tp_is_open_size(s))
            return tp_printf(c->arena, "--size: `%.*s` is no size of the spec that is open", TP_FMT(sizes[i].name));
    }
    return TP_S("");
}

tp_str tp_statement_place(tp_arena *a, const tp_source *source, const tp_syntax *s)
{
    tp_loc loc = tp_json_place(s->line);
    return tp_printf(a, "%.*s:%u", TP_FMT(tp_source_path(source, loc.start)), tp_linecol_of(source, loc.start).line);
}

tp_str tp_coordinates_text(tp_arena *a, const tp_kernel *k, const int64_t *env)
{
    tp_buf b = {.arena = a};
    for (uint32_t x = 0; x < k->naxes; x++)
        tp_buf_printf(&b, "%s%.*s = %lld", x ? ", " : "", TP_FMT(k->axes[x].name), (long long)env[k->axes[x].sym]);
    return b.n ? tp_buf_view(&b) : TP_S("the step");
}

int tp_refuse_name(const char *what, tp_str name, tp_str near, const char *otherwise)
{
    if (near.n)
        return tp_usage_error("%s `%.*s`; did you mean `%.*s`?", what, TP_FMT(name), TP_FMT(near));
    return tp_usage_error("%s `%.*s`; %s", what, TP_FMT(name), otherwise);
}

int tp_refuse_rule(tp_str name)
{
    tp_str names[128];
    size_t count = 0, n, m;
    const tp_rule *const *rules = tp_rules(&n);
    const tp_code *codes = tp_codes(&m);
    for (size_t i = 0; i < n + m && count + 2 <= sizeof names / sizeof *names; i++) {
        names[count++] = tp_str_c(i < n ? rules[i]->code : codes[i - n].code);
        names[count++] = tp_str_c(i < n ? rules[i]->slug : codes[i - n].slug);
    }
    return tp_refuse_name("there is no rule", name, tp_nearest(name, names, count), "`tileproof rules` lists them");
}

bool tp_use_target(const tp_cli *c, tp_str *target)
{
    tp_target ignored;
    *target = tp_option(&c->target, "");
    if (!target->n || tp_target_find(*target, &ignored))
        return true;
    tp_refuse_name("unknown target", *target, tp_target_nearest(*target), "`tileproof targets` lists them");
    return false;
}

bool tp_use_color(const tp_cli *c, bool *color)
{
    tp_str when = tp_option(&c->color, "auto");
    const char *no = getenv("NO_COLOR"), *term = getenv("TERM");
    *color = tp_str_is(when, "always") ||
             (tp_str_is(when, "auto") && isatty(STDOUT_FILENO) && !(no && *no) && !(term && strcmp(term, "dumb") == 0));
    if (tp_str_is(when, "auto") || tp_str_is(when, "always") || tp_str_is(when, "never"))
        return true;
    tp_usage_error("--color is auto, always or never, not `%.*s`", TP_FMT(when));
    return false;
}

bool tp_use_budget(const tp_cli *c, tp_check_settings *s)
{
    return tp_option_number(&c->timeout, "timeout", 0, 1000000, s->timeout, &s->timeout) &&
           tp_option_number(&c->memory_limit, "memory-limit", 0, 1 << 24, s->memory_mib, &s->memory_mib);
}

/* ---- files of ours ---- */

typedef struct own_file {
    tp_ctx ctx;
    void (*read)(tp_ctx *ctx, void *into);
    void *into;
} own_file;

static void read_now(void *arg)
{
    own_file *f = arg;
    f->read(&f->ctx, f->into);
}

bool tp_read_own_file(tp_cli *c, const char *what, const char *path, size_t max_bytes,
                      void (*read)(tp_ctx *ctx, void *into), void *into)
{
    tp_source *source = TP_NEW(c->arena, tp_source);
    own_file file = {{.arena = c->arena, .source = source}, read, into};
    tp_str why;
    source->path = tp_str_c(path);
    if (tp_read_file(c->arena, path, max_bytes, &source->text, &why) != TP_OK) {
        tp_usage_error("cannot read the %s `%s`: %.*s", what, path, TP_FMT(why));
        return false;
    }
    tp_status st = tp_try(c->arena, read_now, &file);
    if (st == TP_E_MEMORY)
        tp_leave(c->arena, st);
    if (st != TP_OK) {
        const tp_finding *f = &file.ctx.findings.at[0];
        tp_linecol at = tp_linecol_of(source, f->loc.start);
        tp_usage_error("%s:%u:%u: %.*s%s%.*s", path, at.line, at.column, TP_FMT(tp_visible(c->arena, f->message)),
                       f->help.n ? "; " : "", TP_FMT(tp_visible(c->arena, f->help)));
    }
    return st == TP_OK;
}

/* ---- paths ---- */

static bool has_suffix(tp_str s, const char *suffix)
{
    size_t n = strlen(suffix);
    return s.n > n && memcmp(s.p + s.n - n, suffix, n) == 0;
}

static int by_name(const struct dirent **a, const struct dirent **b)
{
    return strcmp((*a)->d_name, (*b)->d_name); /* bytes, not the locale */
}

/* Below a folder that is named, what tools write and what others made: hidden, built, or of a virtual environment. */
static bool is_left_out(tp_cli *c, const char *name, tp_str path)
{
    static const char *const NAMES[] = {"build", "dist", "node_modules"};
    struct stat st;
    bool out = name[0] == '.' || stat(tp_printf(c->arena, "%.*s/pyvenv.cfg", TP_FMT(path)).p, &st) == 0;
    for (size_t i = 0; i < sizeof NAMES / sizeof *NAMES; i++)
        out |= strcmp(name, NAMES[i]) == 0;
    return out;
}

enum { MOST_FOLDERS_DEEP = 32 };

/* Specs that nobody looked at are not clean: a folder that cannot be read is an error. */
static bool search_folder(tp_cli *c, tp_str folder, tp_strings *out, int depth)
{
    struct dirent **list;
    if (depth == MOST_FOLDERS_DEEP)
        return tp_usage_error("the folder `%.*s` lies too deep; name it itself", TP_FMT(folder)), false;
    int n = scandir(tp_cstr(c->arena, folder), &list, NULL, by_name);
    if (n < 0)
        return tp_usage_error("cannot read the folder `%.*s`: %s", TP_FMT(folder), strerror(errno)), false;
    bool ok = true;
    for (int i = 0; i < n; i++) {
        const char *name = list[i]->d_name;
        tp_str path = tp_printf(c->arena, "%.*s/%s", TP_FMT(folder), name);
        struct stat st;
        if (ok && strcmp(name, ".") != 0 && strcmp(name, "..") != 0 && lstat(path.p, &st) == 0) {
            if (S_ISDIR(st.st_mode))
                ok = is_left_out(c, name, path) || search_folder(c, path, out, depth + 1);
            else if (name[0] != '.' && (has_suffix(path, ".tile.json") || has_suffix(path, ".tile.jsonc")))
                tp_push(c->arena, *out, path);
        }
        free(list[i]);
    }
    free(list);
    return ok;
}

static bool is_bare_name(tp_str path)
{
    return !memchr(path.p, '/', path.n) && !memchr(path.p, '.', path.n) && !tp_str_is(path, "-");
}

/* A kernel of the gallery by name: examples/ here, beside the program, or in
 * the installed share folder. */
static bool find_in_gallery(tp_cli *c, tp_str name, tp_strings *out)
{
    char self[4096];
    ssize_t n = readlink("/proc/self/exe", self, sizeof self - 1);
    tp_str dir = {self, 0};
    for (ssize_t i = 0; i < n; i++)
        if (self[i] == '/')
            dir.n = (size_t)i;
    const char *const PLACES[] = {"examples", tp_printf(c->arena, "%.*s/../examples", TP_FMT(dir)).p,
                                  tp_printf(c->arena, "%.*s/../share/tileproof/examples", TP_FMT(dir)).p};
    const char *file = tp_printf(c->arena, "/%.*s.tile.json", TP_FMT(name)).p;
    for (size_t i = 0; i < 3; i++) {
        tp_strings all = {0};
        struct stat st;
        if (stat(PLACES[i], &st) == 0 && S_ISDIR(st.st_mode) && !search_folder(c, tp_str_c(PLACES[i]), &all, 0))
            return false;
        for (uint32_t k = 0; k < all.len; k++)
            if (has_suffix(all.at[k], file)) {
                tp_push(c->arena, *out, all.at[k]);
                return true;
            }
    }
    return false;
}

bool tp_expand_paths(tp_cli *c, tp_strings *out)
{
    if (c->paths.len == 0) {
        tp_usage_error("name a spec, a folder, a gallery kernel, or - for standard input");
        return false;
    }
    for (uint32_t i = 0; i < c->paths.len; i++) {
        tp_str p = c->paths.at[i];
        struct stat st;
        uint32_t before = out->len;
        if (!tp_str_is(p, "-") && stat(tp_cstr(c->arena, p), &st) == 0 && S_ISDIR(st.st_mode)) {
            if (!search_folder(c, p, out, 0))
                return false;
            if (out->len == before) {
                tp_usage_error("the folder `%.*s` has no *.tile.json or *.tile.jsonc", TP_FMT(p));
                return false;
            }
        } else if (is_bare_name(p) && find_in_gallery(c, p, out)) {
            continue;
        } else {
            tp_push(c->arena, *out, p);
        }
    }
    return true;
}

/* ---- jobs ---- */

bool tp_job_read(tp_cli *c, tp_job *j, tp_str path)
{
    tp_str why = {NULL, 0};
    if (!j->arena)
        j->arena = tp_arena_child(c->arena);
    uint32_t code;
    bool utf8 = true;
    for (size_t i = 0, n; utf8 && i < path.n; i += n)
        utf8 = (n = tp_utf8(path, i, &code)) > 0;
    j->file = path;
    j->source.path = tp_str_is(path, "-") ? TP_S("<stdin>") : utf8 ? path : tp_visible(j->arena, path);
    tp_job_begin(j);
    if (tp_read_file(j->arena, tp_printf(j->arena, "%.*s", TP_FMT(path)).p, TP_JSON_MAX_BYTES, &j->source.text, &why) ==
        TP_OK)
        return true;
    tp_finding f = {.rule = TP_RULE_SPEC_STRUCTURE,
                    .slug = "spec-structure",
                    .verdict = TP_VIOLATED,
                    .severity = TP_ERROR,
                    .loc = {.pointer = TP_S("")}};
    f.message = tp_printf(j->arena, "cannot read the spec: %.*s", TP_FMT(why));
    if (is_bare_name(path) && access(tp_cstr(j->arena, path), F_OK) != 0)
        f.help =
            TP_S("no file and no kernel of the gallery has this name; a spec is named with its ending, x.tile.json");
    tp_push(j->arena, j->report.findings, f);
    return false;
}

void tp_job_load(tp_cli *c, tp_job *j, tp_str path, const tp_check_settings *s)
{
    if (!tp_job_read(c, j, path))
        return;
    tp_job_allow(j, s);
    tp_job_load_text(j, s->target);
}

int tp_job_exit_code(tp_cli *c, const tp_job *j, tp_unknown_policy unknown)
{
    tp_report report = {.arena = c->arena, .quiet = true, .unknown = unknown};
    tp_push(c->arena, report.specs, j->report);
    report.specs.at[0].source = &j->source; /* the job may have moved */
    int code = tp_report_exit_code(&report);
    if (code)
        tp_write_report(tp_format_find(TP_S("full")), &report, stderr);
    return code;
}
