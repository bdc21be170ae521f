/* Options: one table (options.def), four places to set one. The command line
 * comes before the environment, the environment before .tileproof.json, that
 * before the default; a place that names an option replaces the later ones. */
#define _XOPEN_SOURCE 700
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/cli.h"
#include "spec/json.h"

#define X(field, name, brief, metavar, commands, help) {name, brief, metavar, commands, help, offsetof(tp_cli, field)},
static const tp_option_row OPTIONS[] = {
#include "cli/options.def"
};
#undef X
enum { NOPTIONS = sizeof OPTIONS / sizeof *OPTIONS };
_Static_assert((int)NOPTIONS <= (int)TP_MAX_OPTIONS, "cli.h");

const tp_option_row *tp_option_rows(size_t *n)
{
    *n = NOPTIONS;
    return OPTIONS;
}

bool tp_option_applies(const tp_option_row *o, const tp_command *cmd)
{
    return o->commands[0] == 'a' || strchr(o->commands, cmd->letter) != NULL;
}

static bool configurable(const tp_option_row *o)
{
    return strchr(o->commands, 'C') != NULL;
}

static tp_strings *values_of(tp_cli *c, const tp_option_row *o)
{
    return (tp_strings *)(void *)((char *)c + o->offset);
}

static const char COMMAND_LINE[] = "command line";

/* What a place says first replaces what other places said. */
static void set(tp_cli *c, const tp_option_row *o, tp_str value, const char *origin)
{
    const char **from = &c->origins[o - OPTIONS];
    if (*from != origin)
        values_of(c, o)->len = 0;
    *from = origin;
    tp_push(c->arena, *values_of(c, o), value);
}

/* ---- the command line ---- */

static const tp_option_row *find_option(const tp_command *cmd, const char *arg, size_t n)
{
    for (size_t i = 0; i < NOPTIONS; i++) {
        const tp_option_row *o = &OPTIONS[i];
        bool match = arg[1] == '-' ? n - 2 == strlen(o->name) && strncmp(arg + 2, o->name, n - 2) == 0
                                   : o->brief && o->brief == arg[1] && (n == 2 || o->metavar);
        if (match && tp_option_applies(o, cmd))
            return o;
    }
    return NULL;
}

static int unknown_option(const tp_command *cmd, const char *arg, size_t n)
{
    tp_str names[NOPTIONS];
    size_t count = 0;
    for (size_t i = 0; i < NOPTIONS; i++)
        if (tp_option_applies(&OPTIONS[i], cmd))
            names[count++] = tp_str_c(OPTIONS[i].name);
    tp_str near = tp_nearest((tp_str){arg + (arg[1] == '-' ? 2 : 1), n - (arg[1] == '-' ? 2 : 1)}, names, count);
    if (near.n)
        return tp_usage_error("`%s` has no option `%.*s`; did you mean `--%.*s`?", cmd->name, (int)n, arg,
                              TP_FMT(near));
    return tp_usage_error("`%s` has no option `%.*s`; see `tileproof %s --help`", cmd->name, (int)n, arg, cmd->name);
}

static int read_arguments(tp_cli *c, const tp_command *cmd, int argc, char **argv)
{
    bool only_paths = false;
    for (int i = 0; i < argc; i++) {
        const char *arg = argv[i], *equals = strncmp(arg, "--", 2) == 0 ? strchr(arg, '=') : NULL;
        size_t n = equals ? (size_t)(equals - arg) : strlen(arg);
        if (only_paths || arg[0] != '-' || arg[1] == '\0') {
            tp_push(c->arena, c->paths, tp_str_c(arg));
            continue;
        }
        if (strcmp(arg, "--") == 0) {
            only_paths = true;
            continue;
        }
        const tp_option_row *o = find_option(cmd, arg, n);
        if (!o)
            return unknown_option(cmd, arg, n);
        tp_str value = TP_S("yes");
        if (o->metavar) {
            bool attached = arg[1] != '-' && arg[2]; /* -j4 */
            if (!equals && !attached && i + 1 >= argc)
                return tp_usage_error("option --%s takes a value (%s)", o->name, o->metavar);
            value = tp_str_c(equals ? equals + 1 : attached ? arg + 2 : argv[++i]);
        } else if (equals) {
            return tp_usage_error("option --%s takes no value", o->name);
        }
        set(c, o, value, COMMAND_LINE);
    }
    return TP_EXIT_OK;
}

/* ---- the environment ---- */

static void read_environment(tp_cli *c, const tp_command *cmd)
{
    for (size_t i = 0; i < NOPTIONS; i++) {
        char name[64] = "TILEPROOF_";
        size_t n = strlen(name);
        for (const char *p = OPTIONS[i].name; *p && n < sizeof name - 1; p++)
            name[n++] = *p == '-' ? '_' : (char)(*p >= 'a' && *p <= 'z' ? *p - 32 : *p);
        name[n] = '\0';
        const char *value = getenv(name);
        if (value && *value && tp_option_applies(&OPTIONS[i], cmd) && strcmp(OPTIONS[i].name, "help") != 0)
            set(c, &OPTIONS[i], tp_str_c(value), tp_printf(c->arena, "environment, %s", name).p);
    }
}

/* ---- .tileproof.json ---- */

static bool is_there(tp_cli *c, const char *folder, size_t n, const char *name)
{
    struct stat st;
    return lstat(tp_printf(c->arena, "%.*s/%s", n > 1 ? (int)n : 0, folder, name).p, &st) == 0;
}

static const char NAME[] = ".tileproof.json";

/* Once: a file above that might be meant. */
static void note_unused(tp_cli *c, const char *here, size_t n)
{
    if (n && !c->noted)
        tp_say(stderr,
               "tileproof: note: %.*s/%s is not used, since no repository (.git) holds it and the specs; --config "
               "names it",
               n > 1 ? (int)n : 0, here, NAME);
    c->noted |= n > 0;
}

/* The nearest one: in this folder (absolute), or above, up to the folder that
 * holds .git. Without such a folder only here: what lies above belongs to
 * nobody in particular, as in a folder that all may write to. */
static const char *discover(tp_cli *c, const char *here)
{
    size_t found = 0, whole = strlen(here);
    for (size_t n = whole; n;) {
        if (!found && is_there(c, here, n, NAME))
            found = n;
        if (found == whole || is_there(c, here, n, ".git"))
            break;
        if (n == 1) {
            note_unused(c, here, found);
            return NULL;
        }
        while (n > 1 && here[--n] != '/')
            ;
        n += n == 0;
    }
    return found ? tp_printf(c->arena, "%.*s/%s", found > 1 ? (int)found : 0, here, NAME).p : NULL;
}

static bool is_ours(uid_t owner)
{
    const char *sudo = getenv("SUDO_UID");
    return owner == geteuid() || owner == 0 ||
           (geteuid() == 0 && sudo && *sudo && strtoul(sudo, NULL, 10) == (unsigned long)owner);
}

/* A file that nobody named holds when it, and a link to it, is of who runs this, or of root. */
static bool is_trusted(const char *file)
{
    struct stat link, st;
    bool there = lstat(file, &link) == 0 && stat(file, &st) == 0;
    if (there && (!is_ours(link.st_uid) || !is_ours(st.st_uid))) {
        tp_usage_error(
            "the settings file `%s` belongs to another user: --config %s trusts it, --config none ignores it", file,
            file);
        return false;
    }
    return true;
}

/* The absolute folder of a path that was named, or of itself; NULL: there is no such file. */
static const char *folder_of(tp_cli *c, tp_str path)
{
    struct stat st;
    const char *real = tp_real_path(c->arena, tp_cstr(c->arena, path));
    if (!real)
        return NULL;
    if (stat(real, &st) != 0 || S_ISDIR(st.st_mode))
        return real;
    const char *slash = strrchr(real, '/');
    return tp_printf(c->arena, "%.*s", slash == real ? 1 : (int)(slash - real), real).p;
}

/* The settings file nearest to what was named; where there is none, the one nearest to the working folder. False
 * after a message: files in one run have one. */
static bool find_config(tp_cli *c, const tp_strings *paths, const char **file)
{
    tp_str of = {NULL, 0};
    *file = NULL;
    for (uint32_t i = 0; i < paths->len; i++) {
        const char *folder = tp_str_is(paths->at[i], "-") ? NULL : folder_of(c, paths->at[i]),
                   *near = folder ? discover(c, folder) : NULL;
        if (near && *file && strcmp(near, *file) != 0) {
            tp_usage_error("`%s` applies to `%.*s` and `%s` to `%.*s`: check them in two runs, or choose with --config",
                           *file, TP_FMT(of), near, TP_FMT(paths->at[i]));
            return false;
        }
        if (near && !*file) {
            *file = near;
            of = paths->at[i];
        }
    }
    const char *here = *file ? NULL : folder_of(c, TP_S("."));
    if (here)
        *file = discover(c, here);
    return true;
}

typedef struct config_call {
    tp_cli *c;
    tp_ctx *ctx;
    const tp_command *cmd;
    tp_str folder; /* of the file, with its slash */
} config_call;

static const tp_option_row *option_of_key(tp_ctx *ctx, const tp_json *member)
{
    tp_str names[NOPTIONS];
    size_t n = 0;
    for (size_t i = 0; i < NOPTIONS; i++) {
        if (configurable(&OPTIONS[i]) && tp_str_is(member->key, OPTIONS[i].name))
            return &OPTIONS[i];
        if (configurable(&OPTIONS[i]))
            names[n++] = tp_str_c(OPTIONS[i].name);
    }
    tp_str near = tp_nearest(member->key, names, n);
    tp_raise(ctx, TP_RULE_SPEC_STRUCTURE, member->key_loc,
             tp_did_you_mean(ctx->arena, near, "\"",
                             "the keys are the long names of options; `tileproof lint --help` lists them"),
             "there is no setting \"%.*s\"", TP_FMT(member->key));
}

/* A file that settings name lies below their folder, and no link leads out of it. */
static tp_str path_below(config_call *k, const tp_option_row *o, const tp_json *v)
{
    tp_arena *a = k->ctx->arena;
    tp_str s = v->u.string;
    struct stat st;
    for (size_t at = 0, n; at <= s.n; at += n + 1) {
        const char *slash = at < s.n ? memchr(s.p + at, '/', s.n - at) : NULL;
        n = slash ? (size_t)(slash - s.p) - at : s.n - at;
        if ((n == 0 && at == 0) || (n == 2 && memcmp(s.p + at, "..", 2) == 0))
            tp_raise(k->ctx, TP_RULE_SPEC_STRUCTURE, v->loc, "name it on the command line",
                     "\"%s\" is not below the settings' folder", o->name);
        const char *so_far = tp_printf(a, "%.*s%.*s", TP_FMT(k->folder), (int)(at + n), s.p).p;
        if (lstat(so_far, &st) == 0 && S_ISLNK(st.st_mode))
            tp_raise(k->ctx, TP_RULE_SPEC_STRUCTURE, v->loc, "name it on the command line",
                     "\"%s\" leads through the link `%s`", o->name, so_far);
    }
    return tp_printf(a, "%.*s%.*s", TP_FMT(k->folder), TP_FMT(s));
}

/* A value as the command line would spell it. */
static tp_str text_of(config_call *k, const tp_option_row *o, const tp_json *v)
{
    tp_arena *a = k->ctx->arena;
    bool path = o->metavar && strcmp(o->metavar, "FILE") == 0;
    if (!o->metavar && v->type != TP_J_BOOL)
        tp_raise(k->ctx, TP_RULE_SPEC_STRUCTURE, v->loc, NULL, "\"%s\" is true or false, not %s", o->name,
                 tp_json_type_name(v->type));
    if (v->type == TP_J_BOOL && !o->metavar)
        return TP_S("yes");
    if (v->type == TP_J_INT)
        return tp_printf(a, "%lld", (long long)v->u.integer);
    if (v->type != TP_J_STRING)
        tp_raise(k->ctx, TP_RULE_SPEC_STRUCTURE, v->loc, NULL,
                 "\"%s\" is a string, an integer or an array of strings, not %s", o->name, tp_json_type_name(v->type));
    if (v->u.string.n == 0)
        tp_raise(k->ctx, TP_RULE_SPEC_STRUCTURE, v->loc, "leave the key out", "\"%s\" is empty", o->name);
    return path ? path_below(k, o, v) : v->u.string;
}

static void apply_config(tp_ctx *ctx, void *arg)
{
    config_call *k = arg;
    k->ctx = ctx;
    const tp_json *doc = tp_json_parse(k->ctx, true);
    const char *origin = k->ctx->source->path.p;
    if (doc->type != TP_J_OBJECT)
        tp_raise(k->ctx, TP_RULE_SPEC_STRUCTURE, doc->loc, "write {\"unknown\": \"fail\"}",
                 "settings are an object, not %s", tp_json_type_name(doc->type));
    for (uint32_t i = 0; i < doc->u.items.n; i++) {
        const tp_json *v = doc->u.items.at[i];
        if (tp_str_is(v->key, "$schema"))
            continue;
        const tp_option_row *o = option_of_key(k->ctx, v);
        bool list = v->type == TP_J_ARRAY, off = v->type == TP_J_BOOL && !v->u.boolean && !o->metavar;
        for (uint32_t n = 0; n < (list ? v->u.items.n : 1); n++) {
            tp_str text = text_of(k, o, list ? v->u.items.at[n] : v);
            if (tp_option_applies(o, k->cmd) && !off)
                set(k->c, o, text, origin);
        }
    }
}

static bool read_config(tp_cli *c, const tp_command *cmd, const char *file)
{
    const char *slash = strrchr(file, '/');
    config_call k = {.c = c, .cmd = cmd, .folder = {file, slash ? (size_t)(slash - file) + 1 : 0}};
    return tp_read_own_file(c, "settings file", file, TP_JSON_MAX_BYTES, apply_config, &k);
}

/* ---- all of them ---- */

static bool has_config(const tp_command *cmd)
{
    for (size_t i = 0; i < NOPTIONS; i++)
        if (configurable(&OPTIONS[i]) && tp_option_applies(&OPTIONS[i], cmd))
            return true;
    return false;
}

int tp_read_settings(tp_cli *c, const tp_command *cmd, int argc, char **argv)
{
    tp_cli first = *c; /* only to learn --config and --help */
    read_environment(&first, cmd);
    int code = read_arguments(&first, cmd, argc, argv);
    if (code || first.help.len) {
        c->help = first.help;
        return code;
    }
    tp_str path = tp_option(&first.config, "");
    if (path.n)
        c->config_file = tp_str_is(path, "none") ? NULL : tp_cstr(c->arena, path);
    else if (has_config(cmd) &&
             (!find_config(c, &first.paths, &c->config_file) || (c->config_file && !is_trusted(c->config_file))))
        return TP_EXIT_USAGE;
    if (c->config_file && !read_config(c, cmd, c->config_file))
        return TP_EXIT_USAGE;
    read_environment(c, cmd);
    return read_arguments(c, cmd, argc, argv);
}

void tp_print_settings(tp_cli *c, const tp_command *cmd)
{
    tp_say(stdout, "settings file: %s",
           c->config_file ? c->config_file : "none (.tileproof.json, beside the specs, here, or above)");
    for (size_t i = 0; i < NOPTIONS; i++) {
        const tp_option_row *o = &OPTIONS[i];
        if (!tp_option_applies(o, cmd) || o->offset == offsetof(tp_cli, show_settings) ||
            o->offset == offsetof(tp_cli, help))
            continue;
        const tp_strings *v = values_of(c, o);
        printf("%-15s ", o->name);
        for (uint32_t k = 0; k < v->len; k++)
            printf("%s%.*s", k ? ", " : "", TP_FMT(tp_visible(c->arena, v->at[k])));
        printf("%s%s%s\n", v->len ? "   (" : "default",
               v->len ? tp_cstr(c->arena, tp_visible(c->arena, tp_str_c(c->origins[i]))) : "", v->len ? ")" : "");
    }
}

void tp_say_other_places(tp_cli *c, const tp_command *cmd)
{
    tp_buf b = {.arena = c->arena};
    for (size_t i = 0; i < NOPTIONS; i++)
        if (tp_option_applies(&OPTIONS[i], cmd) && c->origins[i] && c->origins[i] != COMMAND_LINE)
            tp_buf_printf(&b, "%s--%s (%s)", b.n ? ", " : "", OPTIONS[i].name, c->origins[i]);
    if (b.n)
        tp_say(stderr, "tileproof: not from the command line: %.*s", TP_FMT(tp_buf_view(&b)));
}

void tp_print_help(const tp_command *cmd)
{
    printf("%s\n\nusage: tileproof %s %s\n", cmd->summary, cmd->name, cmd->usage);
    bool any = false;
    for (size_t i = 0; i < NOPTIONS; i++) {
        const tp_option_row *o = &OPTIONS[i];
        if (!tp_option_applies(o, cmd))
            continue;
        if (!any)
            printf("\n");
        any = true;
        char left[64];
        snprintf(left, sizeof left, "%s%c%s--%s%s%s", o->brief ? "-" : "  ", o->brief ? o->brief : ' ',
                 o->brief ? ", " : " ", o->name, o->metavar ? " " : "", o->metavar ? o->metavar : "");
        printf("  %-28s %s\n", left, o->help);
    }
}
