/* Things that fail: memory, files, processes, the solver. The n-th call of a
 * kind fails, for every n (or the n-th and all that follow). Whatever fails,
 * nothing is "proven" that was not, nothing is written by half or left behind,
 * and the program ends with an exit code of the table and a sentence.
 * tests/unit/shim/faults.c makes them fail. TEST_TRIALS: at most so many runs
 * of each kind and command (0: all); TEST_ONLY: the commands that have it in
 * them; TEST_VERBOSE=1 lists them. */
#define _GNU_SOURCE
#include <dirent.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "base/rng.h"
#include "base/tensor.h"
#include "tests/unit/shim/faults.h"
#include "tests/unit/specs.h"

#if defined(__SANITIZE_ADDRESS__)
enum { PRELOADS = 0 }; /* the sanitizer wants to be first */
#else
enum { PRELOADS = 1 };
#endif

#define NAME_OF(kind, name) name,
static const char *const KIND_NAMES[] = {FAULT_KINDS(NAME_OF)};

/* ---- the page that is shared with the program ---- */

static fault_page *page;

static void share_page(place *p)
{
    char path[256], shim[4096];
    snprintf(path, sizeof path, "%s.page", p->dir);
    int fd = open(path, O_RDWR | O_CREAT | O_EXCL, 0600);
    assert_true(fd >= 0 && ftruncate(fd, sizeof *page) == 0);
    page = mmap(NULL, sizeof *page, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    assert_true(page != MAP_FAILED);
    close(fd);
    assert_non_null(realpath(TESTS "/faults.so", shim));
    setenv("FAULTS", path, 1);
    setenv("TEST_SHIM", shim, 1);
}

static void unshare_page(void)
{
    unlink(getenv("FAULTS"));
    unsetenv("FAULTS");
    munmap(page, sizeof *page);
}

static outcome run_faulty(place *p, const char *in, const char *const *args)
{
    setenv("LD_PRELOAD", getenv("TEST_SHIM"), 1);
    outcome o = run_in(p->a, p->dir, in, 0, args);
    unsetenv("LD_PRELOAD");
    return o;
}

/* ---- commands ---- */

typedef enum degree {
    WHOLE, /* all or an error */
    LESS,  /* may also prove or execute less, and say so */
    SERVER /* answers what it can */
} degree;

typedef struct command {
    const char *args[16];
    degree degree;
    const char *in; /* standard input */
} command;

static const command COMMANDS[] = {
    {{"lint", "k.tile.json", "-o", "json=out.json", "-o", "html=out.html", "-o", "sarif-full=out.sarif"}, LESS, NULL},
    {{"lint", "k.tile.json", "--certificates", "old", "--cache", "cache"}, LESS, NULL},
    {{"lint", "z.tile.json", "--timeout", "2"}, LESS, NULL},
    {{"lint", "z.tile.json", "--timeout", "2", "--unknown", "fail", "--format", "json"}, LESS, NULL},
    {{"lint", "bad.tile.json", "--format", "full"}, LESS, NULL},
    {{"lint", "bad.tile.json", "--format", "rdjson"}, LESS, NULL},
    {{"lint", "bad.tile.json", "-o", "gitlab=out.json", "-o", "junit=old", "-o", "markdown=out.md", "--format",
      "jsonl"},
     LESS,
     NULL},
    {{"lint", "fix.tile.json", "--fix"}, LESS, NULL},
    {{"lint", "k.tile.json", "--baseline", "base.json", "-j", "2", "bad.tile.json", "--format", "concise"}, LESS, NULL},
    {{"verify", "small.tile.json", "--receipt", "old"}, LESS, NULL},
    {{"verify", "bad.tile.json", "--playback", "json=old", "--playback", "npy=arrays"}, LESS, NULL},
    {{"run", "small.tile.json", "--receipt", "receipt.json", "-i", "x=x.npy", "-o", "o=old"}, WHOLE, NULL},
    {{"verify", "small.tile.json", "--receipt", "old", "--sign", "key"}, LESS, NULL},
    {{"run", "small.tile.json", "--receipt", "receipt.json", "--trust", "key.pub", "-i", "x=x.npy"}, WHOLE, NULL},
    {{"run", "small.tile.json", "-i", "x=x.npy", "-o", "o=o.npy"}, LESS, NULL},
    {{"run", "small.tile.json", "--unchecked", "-i", "x=x.npy", "--trace", "old"}, WHOLE, NULL},
    {{"run", "small.tile.json", "--unchecked", "-i", "x=x.npy", "--show", "x,o"}, WHOLE, NULL},
    {{"lint", "apart.tile.json"}, LESS, NULL},
    {{"lint", "apart.tile.json", "bad.tile.json", "--changed-since", "HEAD"}, LESS, NULL},
    {{"lint", "k.tile.json", "--dump", "tokens,body,windows,leaks,claims,terms"}, LESS, NULL},
    {{"merge", "shard1.json", "shard2.json"}, WHOLE, NULL},
    {{"assess", "small.tile.json", "--format", "json"}, LESS, NULL},
    {{"cost", "small.tile.json"}, WHOLE, NULL},
    {{"cost", "small.tile.json", "--format", "json"}, WHOLE, NULL},
    {{"sweep", "small.tile.json", "--over", "target=v4|v5e", "-o", "html=out.html", "-o", "csv=old"}, LESS, NULL},
    {{"recheck", "receipt.json", "small.tile.json"}, LESS, NULL},
    {{"recheck", "certificates", "k.tile.json"}, LESS, NULL},
    {{"baseline", "write", "base.json", "bad.tile.json"}, LESS, NULL},
    {{"diff", "k.tile.json", "bad.tile.json"}, LESS, NULL},
    {{"mutate", "--defects", "3", "--wider", "2", "small.tile.json"}, LESS, NULL},
    {{"emit", "pallas", "small.tile.json"}, WHOLE, NULL},
    {{"emit", "spec", "small.tile.json"}, WHOLE, NULL},
    {{"emit", "dot", "small.tile.json"}, WHOLE, NULL},
    {{"fmt", "-w", "k.tile.json"}, WHOLE, NULL},
    {{"init", "fresh"}, WHOLE, NULL},
    {{"keygen", "fresh"}, WHOLE, NULL},
    {{"schema"}, WHOLE, NULL},
    {{"man"}, WHOLE, NULL},
    {{"completion", "bash"}, WHOLE, NULL},
    {{"explain", "TP101"}, WHOLE, NULL},
    {{"rules", "--markdown"}, WHOLE, NULL},
    {{"kernels", "."}, WHOLE, NULL},
    {{"lsp"}, SERVER, "session"},
};

static const char *title(place *p, const command *c)
{
    tp_buf b = {.arena = p->a};
    for (int i = 0; c->args[i]; i++)
        tp_buf_printf(&b, "%s%s", i ? " " : "", c->args[i]);
    return tp_cstr(p->a, tp_buf_view(&b));
}

/* ---- what lies in the folder ---- */

typedef struct lying {
    tp_str name, bytes;
} lying;

typedef TP_VEC(lying) files;

static void look(tp_arena *a, const char *dir, const char *below, files *out)
{
    DIR *d = opendir(tp_printf(a, "%s/%s", dir, below).p);
    assert_non_null(d);
    for (struct dirent *e; (e = readdir(d));) {
        struct stat st;
        if (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0)
            continue;
        tp_str name = tp_printf(a, "%s%s", below, e->d_name), bytes = {NULL, 0}, why;
        const char *path = tp_printf(a, "%s/%.*s", dir, TP_FMT(name)).p;
        assert_int_equal(stat(path, &st), 0);
        if (S_ISDIR(st.st_mode)) {
            look(a, dir, tp_printf(a, "%.*s/", TP_FMT(name)).p, out);
            continue;
        }
        assert_int_equal(tp_read_file(a, path, 64 << 20, &bytes, &why), TP_OK);
        tp_push(a, *out, ((lying){name, bytes}));
    }
    closedir(d);
}

static const lying *find(const files *f, tp_str name)
{
    for (uint32_t i = 0; i < f->len; i++)
        if (tp_str_eq(f->at[i].name, name))
            return &f->at[i];
    return NULL;
}

static bool same_files(const files *x, const files *y)
{
    bool same = x->len == y->len;
    for (uint32_t i = 0; i < x->len && same; i++) {
        const lying *other = find(y, x->at[i].name);
        same = other && tp_str_eq(other->bytes, x->at[i].bytes);
    }
    return same;
}

/* As it was before, but for what differs. */
static void restore(place *p, const files *before, const files *now)
{
    for (uint32_t i = 0; i < now->len; i++)
        if (!find(before, now->at[i].name))
            unlink(path_in(p, tp_cstr(p->a, now->at[i].name)));
    for (uint32_t i = 0; i < before->len; i++) {
        const lying *is = find(now, before->at[i].name);
        if (!is || !tp_str_eq(is->bytes, before->at[i].bytes))
            put(p, tp_cstr(p->a, before->at[i].name), before->at[i].bytes.p, before->at[i].bytes.n);
    }
}

/* ---- one failure ---- */

typedef struct attempt {
    place *p;
    const command *command;
    files before, after; /* of a run in which nothing fails */
    outcome good;
    bool twice; /* two such runs are alike */
    long counts[NFAULTS];
} attempt;

static unsigned runs, unharmed, told, lessened, crashed;

static bool all_json(tp_arena *a, tp_str lines)
{
    for (size_t from = 0; from < lines.n;) {
        const char *end = memchr(lines.p + from, '\n', lines.n - from);
        size_t n = (end ? (size_t)(end - lines.p) : lines.n) - from;
        struct json_object *o = json_tokener_parse(tp_cstr(a, (tp_str){lines.p + from, n}));
        if (!o || !end)
            return false;
        json_object_put(o);
        from += n + 1;
    }
    return lines.n > 0;
}

/* Not cut off: reports and lists that say what could not be done are whole, too. */
static bool complete(tp_arena *a, tp_str s)
{
    if (s.n < 2 || s.p[s.n - 1] != '\n')
        return false;
    struct json_object *o = json_tokener_parse(tp_cstr(a, s));
    json_object_put(o);
    if (s.p[0] == '<')
        return s.p[s.n - 2] == '>';
    return o || (s.p[0] == '{' && all_json(a, s)) || (s.p[0] != '{' && s.p[0] != '[');
}

/* What a good run writes, or what was there; less, or why not, but whole. */
static const char *wrong_file(const attempt *t, const files *now, bool other)
{
    for (uint32_t i = 0; i < now->len; i++) {
        const lying *old = find(&t->before, now->at[i].name), *good = find(&t->after, now->at[i].name);
        if (!old && !good)
            return tp_printf(t->p->a, "%.*s is left behind", TP_FMT(now->at[i].name)).p;
        bool whole =
            (old && tp_str_eq(old->bytes, now->at[i].bytes)) ||
            (good && (tp_str_eq(good->bytes, now->at[i].bytes) || (other && complete(t->p->a, now->at[i].bytes))));
        if (!whole)
            return tp_printf(t->p->a, "%.*s is neither the old nor the new one", TP_FMT(now->at[i].name)).p;
    }
    for (uint32_t i = 0; i < t->before.len; i++)
        if (!find(now, t->before.at[i].name))
            return tp_printf(t->p->a, "%.*s is lost", TP_FMT(t->before.at[i].name)).p;
    return NULL;
}

static bool speaks(const outcome *o)
{
    return contains(o->err, "tileproof: ") || contains(o->err, "cannot read ") || contains(o->out, "cannot read ") ||
           contains(o->out, "memory ran out") || contains(o->err, "memory ran out");
}

static unsigned times(tp_str s, const char *word)
{
    unsigned n = 0;
    for (const char *at = s.p; (at = memmem(at, s.n - (size_t)(at - s.p), word, strlen(word))); at += strlen(word))
        n++;
    return n;
}

/* What was not proven or not executed for want of something is said to be so. */
static bool proves_less(const attempt *t, const outcome *o)
{
    static const char *const WORDS[] = {"unknown",        "undecided",      "skipped",
                                        "max-memory",     "out of memory",  "without a solver",
                                        "lack of memory", "memory ran out", "no more memory"};
    bool said = times(o->out, "executed") + times(o->out, "execution") <
                times(t->good.out, "executed") + times(t->good.out, "execution");
    for (size_t i = 0; i < sizeof WORDS / sizeof *WORDS; i++)
        said |= contains(o->out, WORDS[i]) || contains(o->err, WORDS[i]);
    return said;
}

/* Z3 while a context is made, and json-c while it reads, do not look at what malloc() returns,
 * and crash or go on without. Nobody
 * can mend that from outside; that nothing is written by half holds there, too. */
static bool in_a_library(const command *c, int kind)
{
    bool reads = c->degree == SERVER || strcmp(c->args[0], "schema") == 0 || strcmp(c->args[0], "merge") == 0;
    return kind == FAULT_SOLVER || (reads && (kind == FAULT_JSON || kind == FAULT_LIBC));
}

static const char *wrong(const attempt *t, int kind, const outcome *o, const files *now)
{
    const command *c = t->command;
    bool same_out = tp_str_eq(o->out, t->good.out);
    if (in_a_library(c, kind) && (o->exit < 0 || (c->degree == WHOLE && !same_out))) {
        crashed++;
        return wrong_file(t, now, false);
    }
    if (o->exit < 0 || o->exit > 5)
        return o->exit < 0 ? "it ended by a signal" : "the exit code is none of the table";
    bool failed = (o->exit == 2 || o->exit == 3 || o->exit == 5) && o->exit != t->good.exit;
    const char *file = wrong_file(t, now, !t->twice || (c->degree == LESS && (failed || proves_less(t, o))));
    if (file)
        return file;
    if (o->exit == t->good.exit && same_out && (same_files(now, &t->after) || !t->twice)) {
        unharmed++;
        return NULL;
    }
    if (failed && !speaks(o))
        return "there is no sentence";
    if (failed) {
        told++;
        return NULL;
    }
    lessened++;
    if (c->degree == SERVER)
        return NULL;
    if (c->degree != LESS || !proves_less(t, o))
        return "the output differs, and does not say why";
    return NULL;
}

/* False after a message. */
static bool attempt_one(const attempt *t, int kind, long n, bool lasting)
{
    place q = *t->p;
    files now = {0};
    q.a = tp_arena_new(0);
    memset(page, 0, sizeof *page);
    page->kind = kind;
    page->at = n;
    page->lasting = lasting;
    outcome o = run_faulty(&q, t->command->in ? path_in(&q, t->command->in) : NULL, t->command->args);
    look(q.a, q.dir, "", &now);
    const char *why = wrong(t, kind, &o, &now);
    if (why || getenv("TEST_VERBOSE"))
        print_message("%s: %s %ld%s fails (asked at %#lx): exit %d%s%s\n%s%.600s%s%.600s", title(&q, t->command),
                      KIND_NAMES[kind], n, lasting ? " and all after it" : "", (unsigned long)page->where, o.exit,
                      why ? ": " : "", why ? why : "", why ? "stdout: " : "", why ? tp_cstr(q.a, o.out) : "",
                      why ? "\nstderr: " : "", why ? tp_cstr(q.a, o.err) : "");
    runs++;
    restore(&q, &t->before, &now);
    tp_arena_free(q.a);
    return !why;
}

/* All of a few; of many the first ones, and a sample of the rest. */
static unsigned attempt_kind(const attempt *t, int kind, long most)
{
    long count = t->counts[kind], all = most / 2;
    unsigned bad = 0;
    tp_rng rng = tp_rng_new(1, (uint64_t)kind);
    for (long i = 1; i <= count && i <= most; i++) {
        long n = i;
        if (count > most && i > all)
            n = all + 1 + (long)tp_rng_below(&rng, (uint64_t)(count - all));
        bad += !attempt_one(t, kind, n, i % 2 == 0);
        if (count * 2 <= most) /* both ways, where that is cheap */
            bad += !attempt_one(t, kind, n, i % 2 != 0);
    }
    return bad;
}

static unsigned attempt_command(place *p, const command *c, long most)
{
    attempt t = {.p = p, .command = c};
    files again = {0};
    unsigned bad = 0;
    look(p->a, p->dir, "", &t.before);
    memset(page, 0, sizeof *page);
    t.good = run_faulty(p, c->in ? path_in(p, c->in) : NULL, c->args);
    for (int k = 0; k < NFAULTS; k++)
        t.counts[k] = page->counts[k];
    look(p->a, p->dir, "", &t.after);
    restore(p, &t.before, &t.after);
    run_faulty(p, c->in ? path_in(p, c->in) : NULL, c->args);
    look(p->a, p->dir, "", &again);
    restore(p, &t.before, &again);
    t.twice = same_files(&again, &t.after);
    if (t.good.exit < 0 || t.good.exit == 2 || t.good.exit == 5)
        fail_msg("%s: exit %d: %s", title(p, c), t.good.exit, tp_cstr(p->a, t.good.err));
    assert_true(t.counts[FAULT_MEMORY] > 0);
    for (int k = 0; k < NFAULTS; k++) {
        if (getenv("TEST_VERBOSE"))
            print_message("%s: %ld of %s\n", title(p, c), t.counts[k], KIND_NAMES[k]);
        bad += attempt_kind(&t, k, most);
    }
    return bad;
}

/* ---- the folder ---- */

static void copy(place *p, const char *from, const char *name)
{
    tp_str bytes, why;
    assert_int_equal(tp_read_file(p->a, from, 1 << 20, &bytes, &why), TP_OK);
    put(p, name, bytes.p, bytes.n);
}

/* Its body is in a file of its own. */
static const char APART[] =
    "{\"tileproof\": 1, \"name\": \"apart\", \"sizes\": {\"N\": {\"min\": 1}}, \"grid\": [{\"axis\": \"i\", \"steps\": "
    "\"cdiv(N, 8)\"}], \"inputs\": [{\"name\": \"x\", \"dtype\": \"int32\", \"shape\": [\"N\"], \"block_shape\": [8], "
    "\"index_map\": [\"i\"]}], \"outputs\": [{\"name\": \"o\", \"dtype\": \"int32\", \"shape\": [\"N\"], "
    "\"block_shape\": "
    "[8], \"index_map\": [\"i\"]}], \"kernel_file\": \"apart.tile.py\"}\n";

static void furnish(place *p)
{
    static const char RESULT[] = ", \"reference\": [\"o = x\"]";
    static const float X[] = {1, 2, 3, 4, 5, 6, 7, 8, 9};
    tp_str why;
    tp_tensor t = tp_tensor_new(p->a, TP_F32, 1, (const int64_t[]){9});
    memcpy(t.data, X, sizeof X);
    text(p, "old", "what was here before\n");
    put_spec(p, "k.tile.json", "", "");
    put_spec(p, "small.tile.json", "", RESULT);
    put_spec(p, "bad.tile.json", " + 1", RESULT);
    copy(p, "tests/rules/output-coverage/ok_element_reversed.tile.json", "z.tile.json");
    text(p, "apart.tile.json", APART);
    text(p, "apart.tile.py", "o[...] = x[...] + 1\n");
    copy(p, "tests/mistakes/alias_wrong.tile.json", "fix.tile.json");
    copy(p, "tests/fuzz/corpus/lsp/session", "session");
    assert_int_equal(tp_tensor_write(p->a, tp_str_c(path_in(p, "x.npy")), TP_S("x"), &t, &why), TP_OK);
    outcome o = RUN_IN(p->a, p->dir, "keygen", "key");
    expect_exit(&o, 0);
    o = RUN_IN(p->a, p->dir, "verify", "small.tile.json", "--receipt", "receipt.json", "--sign", "key");
    expect_exit(&o, 0);
    o = RUN_IN(p->a, p->dir, "lint", "k.tile.json", "--certificates", "certificates");
    expect_exit(&o, 0);
    RUN_IN(p->a, p->dir, "lint", "k.tile.json", "bad.tile.json", "--shard", "1/2", "-o", "json=shard1.json");
    RUN_IN(p->a, p->dir, "lint", "k.tile.json", "bad.tile.json", "--shard", "2/2", "-o", "json=shard2.json");
    o = RUN_IN(p->a, p->dir, "baseline", "write", "base.json", "bad.tile.json");
    expect_exit(&o, 0);
    /* the oldest text that goes on to be replaced must not be the good one */
    o = RUN_IN(p->a, p->dir, "baseline", "write", "base.json", "bad.tile.json", "fix.tile.json");
    expect_exit(&o, 0);
}

/* False: no git here. */
static bool begin_history(place *p)
{
    static const char HOW[] = "git init -q . && git -c user.name=t -c user.email=t@t commit -q --allow-empty -m x";
    return system(tp_printf(p->a, "cd '%s' && %s", p->dir, HOW).p) == 0;
}

static void the_nth_fails(void **state)
{
    place *p = *state;
    const char *trials = getenv("TEST_TRIALS"), *only = getenv("TEST_ONLY");
    long most = trials ? atol(trials) : 2;
    unsigned bad = 0;
    if (!PRELOADS)
        return;
    furnish(p);
    bool history = begin_history(p);
    share_page(p);
    wall_seconds = 60;
    for (size_t i = 0; i < sizeof COMMANDS / sizeof *COMMANDS; i++)
        if ((!only || strstr(title(p, &COMMANDS[i]), only)) &&
            (history || !strstr(title(p, &COMMANDS[i]), "--changed-since")))
            bad += attempt_command(p, &COMMANDS[i], most ? most : 1 << 30);
    unshare_page();
    print_message("faults: %u runs: %u unharmed, %u ended by an error, %u with less, %u by a signal inside a library\n",
                  runs, unharmed, told, lessened, crashed);
    assert_int_equal(bad, 0);
    assert_true(only || told * 5 > runs);
}

static void solver(void **state)
{
    place *p = *state;
    static const char *const SPEC[] = {"lint", "z.tile.json", "--unknown", "fail", NULL};
    static const char *const HOW[] = {"unknown", "sat", "die"};
    if (!PRELOADS)
        return;
    furnish(p);
    share_page(p);
    assert_true(contains(run_in(p->a, p->dir, NULL, 0, SPEC).out, "proven(z3)"));
    for (size_t i = 0; i < sizeof HOW / sizeof *HOW; i++) {
        setenv("FAULT_Z3", HOW[i], 1);
        outcome o = run_faulty(p, NULL, SPEC);
        if (o.exit != 4 || contains(o.out, "proven(z3)") || contains(o.out, "error["))
            fail_msg("Z3 %s: exit %d\n%s\n%s", HOW[i], o.exit, tp_cstr(p->a, o.out), tp_cstr(p->a, o.err));
    }
    unsetenv("FAULT_Z3");
    unshare_page();
}

/* What is unknown since a solver died is asked again the next time; Z3's own "unknown" is not. */
static void results_that_may_change_are_not_kept(void **state)
{
    place *p = *state;
    static const char *const SPEC[] = {"lint", "z.tile.json", "--cache", "kept", "--cache-key", "seal", NULL};
    static const char *const KEY[] = {"keygen", "seal", "me", NULL};
    if (!PRELOADS)
        return;
    furnish(p);
    share_page(p);
    assert_int_equal(run_in(p->a, p->dir, NULL, 0, KEY).exit, 0);
    setenv("FAULT_Z3", "die", 1);
    assert_true(contains(run_faulty(p, NULL, SPEC).out, "unknown"));
    unsetenv("FAULT_Z3");
    assert_true(contains(run_in(p->a, p->dir, NULL, 0, SPEC).out, "proven(z3)"));
    unlink(path_in(p, "kept"));
    setenv("FAULT_Z3", "unknown", 1);
    run_faulty(p, NULL, SPEC);
    unsetenv("FAULT_Z3");
    assert_false(contains(run_in(p->a, p->dir, NULL, 0, SPEC).out, "proven(z3)"));
    unshare_page();
}

/* A child of Z3 that takes all the memory it can get ends; the verdict is unknown. */
static void a_solver_has_bounds(void **state)
{
    enum { MOST = 64 + 512 }; /* MiB: --memory-limit, and room beside it */
    place *p = *state;
    static const char *const SPEC[] = {"lint", "z.tile.json", "--unknown", "fail", "--memory-limit", "64", NULL};
    if (!PRELOADS)
        return;
    furnish(p);
    share_page(p);
    memset(page, 0, sizeof *page);
    setenv("FAULT_Z3", "eat", 1);
    outcome o = run_faulty(p, NULL, SPEC);
    unsetenv("FAULT_Z3");
    if (o.exit != 4 || !contains(o.out, "the solver process died") || page->took == 0 || page->took > (long)MOST << 20)
        fail_msg("exit %d after %ld MiB\n%s%s", o.exit, page->took >> 20, tp_cstr(p->a, o.out), tp_cstr(p->a, o.err));
    unshare_page();
}

/* Work that is not counted, for ever: the watchdog ends the program, with a sentence, and nothing is written. */
static void a_watchdog_stands_behind(void **state)
{
    place *p = *state;
    static const char *const SPECS[][10] = {
        {"lint", "z.tile.json", "--timeout", "1", "-o", "json=out.json", "--cache", "cache"},
        {"mutate", "z.tile.json", "--timeout", "1"},
        {"run", "z.tile.json", "--timeout", "1", "--size", "N=8", "--output", "o=out.json"}};
    struct rusage before, after;
    if (!PRELOADS)
        return;
    furnish(p);
    share_page(p);
    setenv("FAULT_Z3", "spin", 1);
    for (size_t i = 0; i < sizeof SPECS / sizeof *SPECS; i++) {
        memset(page, 0, sizeof *page);
        getrusage(RUSAGE_CHILDREN, &before);
        outcome o = run_faulty(p, NULL, SPECS[i]);
        getrusage(RUSAGE_CHILDREN, &after);
        if (o.exit != 4 || !contains(o.err, "z.tile.json: stopped at twice the CPU seconds of --timeout"))
            fail_msg("%s: exit %d: %s%s", SPECS[i][0], o.exit, tp_cstr(p->a, o.out), tp_cstr(p->a, o.err));
        assert_in_range(after.ru_utime.tv_sec - before.ru_utime.tv_sec, 1, 4);
    }
    unsetenv("FAULT_Z3");
    assert_true(access(path_in(p, "out.json"), F_OK) != 0 && access(path_in(p, "cache"), F_OK) != 0);
    unshare_page();
}

int main(void)
{
    const struct CMUnitTest tests[] = {IN_PLACE(the_nth_fails), IN_PLACE(solver), IN_PLACE(a_solver_has_bounds),
                                       IN_PLACE(results_that_may_change_are_not_kept),
                                       IN_PLACE(a_watchdog_stands_behind)};
    return cmocka_run_group_tests_name("faults", tests, NULL, NULL);
}
