/* Receipts: what they cover, and every way in which one is refused. */
#define _GNU_SOURCE
#include <unistd.h>

#include "base/tensor.h"
#include "kernels/receipt.h"
#include "tests/unit/files.h"

static const char SPEC[] =
    "{\n  \"tileproof\": 1,\n  \"name\": \"gather\",\n  \"target\": \"tpu-v5e\",\n"
    "  \"sizes\": {\"B\": {\"min\": 1, \"max\": 64}, \"P\": {\"min\": 1, \"max\": 64}},\n"
    "  \"scalar_prefetch\": [{\"name\": \"t\", \"dtype\": \"int32\", \"shape\": [\"B\"], \"values\": {\"min\": 0, "
    "\"max\": "
    "\"P - 1\"}}],\n"
    "  \"grid\": [{\"axis\": \"i\", \"steps\": \"B\"}],\n"
    "  \"inputs\": [{\"name\": \"x\", \"dtype\": \"float32\", \"shape\": [\"P\", 8, 128], \"block_shape\": [1, 8, "
    "128], "
    "\"index_map\": [\"t[i]\", 0, 0]}],\n"
    "  \"outputs\": [{\"name\": \"o\", \"dtype\": \"float32\", \"shape\": [\"B\", 8, 128], \"block_shape\": [1, 8, "
    "128], "
    "\"index_map\": [\"i\", 0, 0]}],\n"
    "  \"kernel\": [\"o[...] = x[...] * 2\"],\n"
    "  \"reference\": [\"o = take(x, t, 0) * 2\"]\n}\n";

typedef struct fixture {
    const char *spec, *receipt, *x, *t;
} fixture;

static const char *npy(place *p, const char *name, tp_dtype dtype, uint32_t rank, const int64_t *dims, int64_t value)
{
    tp_tensor t = tp_tensor_new(p->a, dtype, rank, dims);
    tp_str why, path = tp_printf(p->a, "%s/%s.npy", p->dir, name);
    for (size_t i = 0; i < t.n; i++)
        tp_put_f64(dtype, t.data, i, (double)value);
    assert_int_equal(tp_tensor_write(p->a, path, tp_str_c(name), &t, &why), TP_OK);
    return tp_printf(p->a, "%.*s=%.*s", 1, name, TP_FMT(path)).p;
}

static fixture make(place *p)
{
    fixture f = {.spec = put(p, "gather.tile.json", SPEC, sizeof SPEC - 1), .receipt = path_in(p, "r.json")};
    f.x = npy(p, "x", TP_F32, 3, (const int64_t[]){3, 8, 128}, 5);
    f.t = npy(p, "t", TP_I32, 1, (const int64_t[]){2}, 1);
    outcome o = RUN(p->a, "verify", "--cases", "4", "--receipt", f.receipt, f.spec);
    if (o.exit != 0)
        fail_msg("verify: exit %d: %.*s%.*s", o.exit, TP_FMT(o.out), TP_FMT(o.err));
    return f;
}

static outcome run_by(place *p, const fixture *f)
{
    return RUN(p->a, "run", "--receipt", f->receipt, f->spec, "-i", f->x, "-i", f->t, "-o",
               tp_printf(p->a, "o=%s/o.npy", p->dir).p);
}

static void refused(const outcome *o, const char *said)
{
    if (o->exit != 3 || !contains(o->err, said) || o->out.n)
        fail_msg("exit %d, expected 3 and \"%s\": %.*s%.*s", o->exit, said, TP_FMT(o->out), TP_FMT(o->err));
}

/* The text with one part replaced, written in its place. */
static void change(place *p, const char *path, const char *part, const char *with)
{
    tp_str text, why;
    tp_buf b = {.arena = p->a};
    assert_int_equal(tp_read_file(p->a, path, 1 << 20, &text, &why), TP_OK);
    const char *at = memmem(text.p, text.n, part, strlen(part));
    if (!at)
        fail_msg("%s: no %s", path, part);
    tp_buf_add(&b, text.p, (size_t)(at - text.p));
    tp_buf_c(&b, with);
    at += strlen(part);
    tp_buf_add(&b, at, (size_t)(text.p + text.n - at));
    put(p, strrchr(path, '/') + 1, b.p, b.n);
}

/* As a forger would: another body, its digest made anew; the signature, where there is one, stays. */
static void forge(place *p, const char *path, const char *key, struct json_object *value)
{
    struct json_object *o = json_object_from_file(path), *signature;
    json_object_object_del(o, "digest");
    json_object_object_add(o, key, value);
    signature = json_object_get(member(o, "signature"));
    json_object_object_del(o, "signature");
    tp_str text = tp_receipt_text(p->a, o, NULL);
    if (signature) {
        o = json_tokener_parse(tp_cstr(p->a, text));
        json_object_object_add(o, "signature", signature);
        text = tp_printf(p->a, "%s\n", json_object_to_json_string_ext(o, JSON_C_TO_STRING_PRETTY));
        json_object_put(o);
    }
    put(p, strrchr(path, '/') + 1, text.p, text.n);
}

static void a_receipt_lets_its_kernel_run(void **state)
{
    place *p = *state;
    fixture f = make(p);
    outcome o = run_by(p, &f);
    assert_int_equal(o.exit, 0);
    assert_true(contains(o.out, "gather: by its receipt: "));
    o = RUN(p->a, "recheck", f.receipt, f.spec);
    assert_int_equal(o.exit, 0);
    assert_true(contains(o.out, "accepted: ") && contains(o.out, "proven again without a solver"));
    change(p, f.spec, "  \"grid\": [{\"axis\"", "  \"grid\":\n  [  {\"axis\""); /* layout is not meaning */
    o = run_by(p, &f);
    assert_int_equal(o.exit, 0);
}

/* A tier without a verdict is said in the receipt and by who runs on it. */
static void what_was_not_conclusive_is_said(void **state)
{
    static const char OPEN[] = "tests/cases/ok_residues_maximum.tile.json", SAYS[] = "where maxima follow the data";
    place *p = *state;
    const char *receipt = path_in(p, "open.json"), *x = npy(p, "x", TP_F32, 1, (const int64_t[]){3}, 1),
               *y = npy(p, "y", TP_F32, 1, (const int64_t[]){3}, 2);
    outcome o = RUN(p->a, "verify", "--receipt", receipt, OPEN);
    assert_int_equal(o.exit, 0);
    struct json_object *list = member(member(json_object_from_file(receipt), "equivalence"), "inconclusive");
    assert_int_equal(json_object_array_length(list), 1);
    assert_non_null(strstr(json_object_get_string(json_object_array_get_idx(list, 0)), SAYS));
    o = RUN(p->a, "run", "--receipt", receipt, OPEN, "-i", x, "-i", y);
    assert_int_equal(o.exit, 0);
    assert_true(contains(o.out, "; inconclusive: E3 at ") && contains(o.out, SAYS));
    o = RUN(p->a, "run", OPEN, "-i", x, "-i", y);
    assert_int_equal(o.exit, 0);
    assert_true(contains(o.out, "verified first: ") && contains(o.out, "; inconclusive: E3 at "));
    o = RUN(p->a, "verify", "--receipt", receipt, "tests/cases/open_residues_tiny_term.tile.json");
    assert_int_equal(o.exit, 4);
}

/* Blocks of 12 rows (TP201), with and without leave. */
#define ROWS(allow)                                                                                                    \
    "{\"tileproof\": 1, \"name\": \"rows\", \"target\": \"tpu-v5e\", \"sizes\": {\"M\": {\"min\": 1, \"max\": 40}}, "  \
    "\"grid\": "                                                                                                       \
    "[{\"axis\": \"i\", \"steps\": \"cdiv(M, 12)\"}], \"inputs\": [{\"name\": \"x\", \"dtype\": \"float32\", "         \
    "\"shape\": [\"M\", "                                                                                              \
    "128], \"block_shape\": [12, 128], \"index_map\": [\"i\", 0]}], \"outputs\": [{\"name\": \"o\", \"dtype\": "       \
    "\"float32\", "                                                                                                    \
    "\"shape\": [\"M\", 128], \"block_shape\": [12, 128], \"index_map\": [\"i\", 0]}], \"kernel\": [\"o[...] = "       \
    "x[...]\"], "                                                                                                      \
    "\"reference\": [\"o = x\"]" allow "}"

static void what_was_suppressed_is_said(void **state)
{
    static const char PLAIN[] = ROWS(""),
                      ALLOWED[] = ROWS(", \"allow\": [{\"rule\": \"TP201\", \"reason\": \"known\"}]");
    place *p = *state;
    const char *plain = put(p, "plain.tile.json", PLAIN, sizeof PLAIN - 1),
               *allowed = put(p, "allowed.tile.json", ALLOWED, sizeof ALLOWED - 1), *receipt = path_in(p, "rows.json"),
               *baseline = path_in(p, "baseline.json"), *x = npy(p, "x", TP_F32, 2, (const int64_t[]){24, 128}, 1);
    assert_int_equal(RUN(p->a, "verify", "--receipt", receipt, plain).exit, 1);
    assert_int_equal(RUN(p->a, "verify", "--receipt", receipt, allowed).exit, 0);
    struct json_object *r = json_object_from_file(receipt);
    assert_int_equal(json_object_get_int64(member(member(r, "checked"), "suppressed")), 2);
    assert_int_equal(json_object_array_length(member(r, "allowed")), 2);
    assert_string_equal(string_of(json_object_array_get_idx(member(r, "allowed"), 0), "rule"), "TP201");
    json_object_put(r);
    outcome o = RUN(p->a, "run", "--receipt", receipt, allowed, "-i", x);
    assert_int_equal(o.exit, 0);
    assert_true(contains(o.out, "by its receipt: ") && contains(o.out, "; not proven, but suppressed: TP201 (2)"));
    o = RUN(p->a, "run", allowed, "-i", x);
    assert_int_equal(o.exit, 0);
    assert_true(contains(o.out, "verified first: ") && contains(o.out, "; 2 not proven, but suppressed"));
    o = RUN(p->a, "run", plain, "-i", x);
    assert_int_equal(o.exit, 1);
    /* what leaves findings out of a run gets no receipt */
    assert_int_equal(RUN(p->a, "baseline", "write", baseline, plain).exit, 0);
    const char *none = path_in(p, "none.json");
    o = RUN(p->a, "verify", "--baseline", baseline, "--receipt", none, plain);
    assert_true(o.exit == 2 && contains(o.err, "--receipt vouches for all rules: a baseline hides findings"));
    o = RUN(p->a, "verify", "--ignore", "TP201", "--receipt", none, plain);
    assert_true(o.exit == 2 && contains(o.err, "--receipt vouches for all rules: --select and --ignore"));
    assert_int_not_equal(access(none, F_OK), 0);
}

static void what_it_does_not_cover_is_refused(void **state)
{
    place *p = *state;
    fixture f = make(p);
    outcome o;
    fixture large = f, broken = f;
    large.x = npy(p, "x_large", TP_F32, 3, (const int64_t[]){65, 8, 128}, 5);
    o = run_by(p, &large);
    refused(&o, "outside the declared domain: ");
    broken.t = npy(p, "t_broken", TP_I32, 1, (const int64_t[]){2}, 3);
    o = run_by(p, &broken);
    refused(&o, "t[");
    o = RUN(p->a, "run", "--target", "tpu-v6e", "--receipt", f.receipt, f.spec, "-i", f.x, "-i", f.t);
    refused(&o, "the receipt is for tpu-v5e, not for tpu-v6e");
    change(p, f.receipt, "\"cases\":", "\"cases\":1");
    o = run_by(p, &f);
    refused(&o, "the receipt was changed after it was written");
    f = make(p);
    change(p, f.spec, "* 2\"],\n  \"reference\"", "* 3\"],\n  \"reference\"");
    o = run_by(p, &f);
    refused(&o, "the spec was changed since the receipt was written");
    f = make(p);
    forge(p, f.receipt, "semantics", json_object_new_int(TP_SEMANTICS_VERSION + 1));
    o = run_by(p, &f);
    refused(&o, "another version of the semantics");
    f = make(p);
    put(p, "r.json", "{}", 2);
    o = run_by(p, &f);
    refused(&o, "this is not a receipt");
    /* what is suppressed stands in objects: else nothing is read from where they would be */
    f = make(p);
    change(p, f.receipt, "\"allowed\":[", "\"allowed\":[\"add\", [1], 2");
    o = run_by(p, &f);
    refused(&o, "the key \"rule\" is missing here");
    unlink(f.receipt);
    o = run_by(p, &f);
    refused(&o, "cannot read the receipt");
    make(p);
    change(p, f.receipt, "{", "{\"tileproof_receipt\": 2}");
    o = run_by(p, &f);
    refused(&o, "r.json:2:3: ");
}

/* A digest without a key stops accidents; recheck does not believe anyone. */
static void a_forged_receipt_does_not_pass_recheck(void **state)
{
    place *p = *state;
    fixture f = make(p);
    change(p, f.spec, "\"max\": \"P - 1\"", "\"max\": \"P\"");
    tp_arena *a = tp_arena_new(0);
    tp_source source = {.path = TP_S("s")};
    tp_str why;
    tp_ctx ctx = {.arena = a, .source = &source};
    tp_spec *spec = NULL;
    tp_load_options options = {0};
    assert_int_equal(tp_read_file(a, f.spec, 1 << 20, &source.text, &why), TP_OK);
    assert_int_equal(tp_spec_load(&ctx, &options, &spec), TP_OK);
    struct json_object *of = json_object_new_object();
    json_object_object_add(of, "name", json_object_new_string("gather"));
    json_object_object_add(of, "sha256", json_object_new_string(tp_cstr(a, tp_spec_digest(&ctx, spec))));
    forge(p, f.receipt, "spec", of);
    outcome o = run_by(p, &f); /* every access is checked all the same */
    assert_int_equal(o.exit, 0);
    o = RUN(p->a, "recheck", f.receipt, f.spec);
    assert_int_equal(o.exit, 1);
    assert_true(contains(o.out, "refused: ") && contains(o.err, "TP101"));
    tp_arena_free(a);
}

/* ---- signatures ---- */

typedef struct signing {
    fixture f;
    const char *mine, *other, *trusted; /* private keys; public keys: that of mine alone */
} signing;

static const char *new_key(place *p, const char *name)
{
    const char *path = path_in(p, name);
    outcome o = RUN(p->a, "keygen", path, tp_printf(p->a, "%s of the tests", name).p);
    if (o.exit != 0)
        fail_msg("keygen: exit %d: %.*s", o.exit, TP_FMT(o.err));
    return path;
}

static void sign(place *p, const signing *s, const char *key, const char *cases)
{
    outcome o = RUN(p->a, "verify", "--cases", cases, "--receipt", s->f.receipt, "--sign", key, s->f.spec);
    if (o.exit != 0)
        fail_msg("verify --sign: exit %d: %.*s%.*s", o.exit, TP_FMT(o.out), TP_FMT(o.err));
}

static signing make_signed(place *p)
{
    signing s = {.f = make(p), .mine = new_key(p, "mine"), .other = new_key(p, "other")};
    s.trusted = tp_printf(p->a, "%s.pub", s.mine).p;
    sign(p, &s, s.mine, "4");
    return s;
}

static outcome run_trusting(place *p, const signing *s, const char *keys)
{
    return RUN(p->a, "run", "--receipt", s->f.receipt, "--trust", keys, s->f.spec, "-i", s->f.x, "-i", s->f.t);
}

static const char *signature_part(place *p, const signing *s, const char *part)
{
    struct json_object *o = json_object_from_file(s->f.receipt);
    const char *text = tp_printf(p->a, "%s", string_of(member(o, "signature"), part)).p;
    json_object_put(o);
    return text;
}

static void a_signed_receipt_is_trusted(void **state)
{
    place *p = *state;
    signing s = make_signed(p);
    outcome o = run_trusting(p, &s, s.trusted);
    if (o.exit != 0 || !contains(o.out, "gather: by its receipt, signed by mine of the tests: "))
        fail_msg("exit %d: %.*s%.*s", o.exit, TP_FMT(o.out), TP_FMT(o.err));
    o = run_by(p, &s.f); /* who does not ask for a signature takes it, too */
    assert_true(o.exit == 0 && contains(o.out, "by its receipt: "));
    assert_int_equal(RUN(p->a, "recheck", s.f.receipt, s.f.spec).exit, 0);
    struct json_object *r = json_object_from_file(s.f.receipt); /* layout is not signed */
    json_object_to_file_ext(s.f.receipt, r, JSON_C_TO_STRING_PLAIN | JSON_C_TO_STRING_NOSLASHESCAPE);
    json_object_put(r);
    o = run_trusting(p, &s, s.trusted);
    assert_int_equal(o.exit, 0);
    const char *keys = tp_printf(p->a, "# who may sign\n\n%s somebody\r\n  %s the tests \n",
                                 tp_printf(p->a, "%064d", 0).p, signature_part(p, &s, "key"))
                           .p;
    o = run_trusting(p, &s, put(p, "keys", keys, strlen(keys)));
    assert_true(o.exit == 0 && contains(o.out, "signed by the tests: "));
    o = RUN(p->a, "run", "--trust", s.trusted, s.f.spec, "-i", s.f.x, "-i", s.f.t); /* it verifies itself */
    assert_true(o.exit == 0 && contains(o.out, "verified first: "));
}

static void forged_signatures_are_refused(void **state)
{
    place *p = *state;
    signing s = make_signed(p);
    const char *mine = signature_part(p, &s, "key"), *of_four = signature_part(p, &s, "signature");
    static const char NOT_OF_IT[] = "the signature does not match the receipt";
    outcome o;
    forge(p, s.f.receipt, "domain", json_object_new_string("every size")); /* with its digest made anew */
    o = run_trusting(p, &s, s.trusted);
    refused(&o, NOT_OF_IT);
    o = run_by(p, &s.f); /* what a digest alone is worth */
    assert_int_equal(o.exit, 0);
    sign(p, &s, s.mine, "4");
    change(p, s.f.receipt, "\"domain\":\"", "\"domain\":\"x"); /* by accident */
    o = run_trusting(p, &s, s.trusted);
    refused(&o, "the receipt was changed after it was written");
    for (uint32_t at = 0; at < 128; at += 21) {
        sign(p, &s, s.mine, "4");
        char *digits = strdup(of_four);
        digits[at] = digits[at] == '0' ? '1' : '0';
        change(p, s.f.receipt, of_four, digits);
        free(digits);
        o = run_trusting(p, &s, s.trusted);
        refused(&o, NOT_OF_IT);
    }
    sign(p, &s, s.mine, "4");
    change(p, s.f.receipt, of_four, "00");
    o = run_trusting(p, &s, s.trusted);
    refused(&o, NOT_OF_IT);
    sign(p, &s, s.mine, "5"); /* the signature of another receipt of the same spec */
    change(p, s.f.receipt, signature_part(p, &s, "signature"), of_four);
    o = run_trusting(p, &s, s.trusted);
    refused(&o, NOT_OF_IT);
    sign(p, &s, s.other, "4");
    o = run_trusting(p, &s, s.trusted);
    refused(&o, "which is not a key in");
    change(p, s.f.receipt, signature_part(p, &s, "key"), mine); /* under a name that is trusted */
    o = run_trusting(p, &s, s.trusted);
    refused(&o, NOT_OF_IT);
}

static void what_is_no_signature_is_refused(void **state)
{
    place *p = *state;
    signing s = make_signed(p);
    outcome o;
    forge(p, s.f.receipt, "signature", json_object_new_string("trust me"));
    o = run_trusting(p, &s, s.trusted);
    refused(&o, "r.json:");
    sign(p, &s, s.mine, "4");
    change(p, s.f.receipt, "\"ed25519\"", "\"none\"");
    o = run_trusting(p, &s, s.trusted);
    refused(&o, "signatures by `none` cannot be read here");
    sign(p, &s, s.mine, "4");
    change(p, s.f.spec, "* 2\"],\n  \"reference\"", "* 3\"],\n  \"reference\"");
    o = run_trusting(p, &s, s.trusted);
    refused(&o, "the spec was changed since the receipt was written");
    s.f = make(p); /* nobody signs */
    o = run_trusting(p, &s, s.trusted);
    refused(&o, "the receipt is not signed, and --trust asks for it");
    o = run_trusting(p, &s, path_in(p, "nowhere"));
    refused(&o, "--trust: cannot read the keys");
    o = run_trusting(p, &s, put(p, "keys", "# none\nABC mine\n", 16));
    refused(&o, "keys:2: a line is a public key");
    o = RUN(p->a, "run", "--unchecked", "--trust", s.trusted, s.f.spec, "-i", s.f.x, "-i", s.f.t);
    assert_true(o.exit == 2 && contains(o.err, "--trust or --unchecked, not both"));
}

static void keys_are_kept(void **state)
{
    place *p = *state;
    struct stat st;
    tp_str before, after, why;
    mode_t mask = umask(0);
    signing s = {.mine = new_key(p, "mine")};
    umask(mask);
    const char *receipt = path_in(p, "r.json"), *spec = put(p, "gather.tile.json", SPEC, sizeof SPEC - 1);
    assert_true(stat(s.mine, &st) == 0 && (st.st_mode & 07777) == 0600);
    assert_int_equal(tp_read_file(p->a, s.mine, 1 << 16, &before, &why), TP_OK);
    outcome o = RUN(p->a, "keygen", s.mine);
    assert_true(o.exit == 2 && contains(o.err, "exists already and is left unchanged"));
    unlink(s.mine);
    o = RUN(p->a, "keygen", s.mine); /* its public half is there */
    assert_int_equal(o.exit, 2);
    assert_int_not_equal(access(s.mine, F_OK), 0);
    o = RUN(p->a, "keygen", path_in(p, "nowhere/key"));
    assert_true(o.exit == 5 && contains(o.err, "cannot write"));
    put(p, "mine", before.p, before.n);
    chmod(s.mine, 0640);
    o = RUN(p->a, "verify", "--receipt", receipt, "--sign", s.mine, spec);
    assert_true(o.exit == 2 && contains(o.err, "others may read or write the key"));
    chmod(s.mine, 0600);
    o = RUN(p->a, "verify", "--sign", s.mine, spec);
    assert_true(o.exit == 2 && contains(o.err, "--sign is of a receipt"));
    o = RUN(p->a, "verify", "--receipt", s.mine, "--sign", s.mine, spec);
    assert_true(o.exit == 2 && contains(o.err, "is read by this run"));
    assert_int_equal(tp_read_file(p->a, s.mine, 1 << 16, &after, &why), TP_OK);
    assert_true(tp_str_eq(before, after));
    put(p, "mine", "no key", 6);
    o = RUN(p->a, "verify", "--receipt", receipt, "--sign", s.mine, spec);
    assert_true(o.exit == 2 && contains(o.err, "is not an Ed25519 private key"));
    assert_int_not_equal(access(receipt, F_OK), 0);
}

static void it_can_be_for_another_chip(void **state)
{
    place *p = *state;
    fixture f = make(p);
    outcome o = RUN(p->a, "verify", "-q", "--target", "tpu-v6e", "--receipt", f.receipt, f.spec);
    assert_int_equal(o.exit, 0);
    o = RUN(p->a, "recheck", f.receipt, f.spec);
    refused(&o, "the receipt is for tpu-v6e, not for tpu-v5e");
    o = RUN(p->a, "recheck", "--target", "tpu-v6e", f.receipt, f.spec);
    assert_int_equal(o.exit, 0);
    o = RUN(p->a, "recheck", "--target", "abacus", f.receipt, f.spec);
    assert_int_equal(o.exit, 2);
}

static void only_verified_kernels_get_one(void **state)
{
    place *p = *state;
    const char *r = path_in(p, "none.json");
    outcome o = RUN(p->a, "verify", "--receipt", r, "examples/broken/index_plus_one.tile.json");
    assert_int_equal(o.exit, 1);
    assert_true(contains(o.err, "no receipt was written: the kernel is not verified"));
    o = RUN(p->a, "verify", "--receipt", r, "--ignore", "TP101", "add_2d");
    assert_int_equal(o.exit, 2);
    o = RUN(p->a, "verify", "--receipt", r, "examples/elementwise");
    assert_int_equal(o.exit, 2);
    assert_int_equal(access(r, F_OK), -1);
    o = RUN(p->a, "verify", "--receipt", r, "--cases", "0", "--box", "0", "add_2d");
    assert_int_equal(o.exit, 4); /* no case was compared with the reference */
    assert_true(contains(o.err, "no receipt was written"));
    assert_int_equal(access(r, F_OK), -1);
    o = RUN(p->a, "verify", "-q", "--receipt", "/nowhere/r.json", "add_2d");
    assert_int_equal(o.exit, 2);
}

static void run_without_one_verifies_first(void **state)
{
    place *p = *state;
    fixture f = make(p);
    outcome o = RUN(p->a, "run", f.spec, "-i", f.x, "-i", f.t);
    assert_int_equal(o.exit, 0);
    assert_true(contains(o.out, "gather: verified first: "));
    o = RUN(p->a, "run", "--unchecked", f.spec, "-i", f.x, "-i", f.t);
    assert_int_equal(o.exit, 0);
    assert_true(contains(o.out, "gather: not verified (--unchecked)"));
    change(p, f.spec, "x[...] * 2\"],", "x[...] * 3\"],");
    o = RUN(p->a, "run", f.spec, "-i", f.x, "-i", f.t);
    assert_int_equal(o.exit, 1);
    assert_true(contains(o.err, "TP701") && contains(o.err, "not run, because it is not verified") && o.out.n == 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        IN_PLACE(a_receipt_lets_its_kernel_run),
        IN_PLACE(what_was_not_conclusive_is_said),
        IN_PLACE(what_was_suppressed_is_said),
        IN_PLACE(what_it_does_not_cover_is_refused),
        IN_PLACE(a_forged_receipt_does_not_pass_recheck),
        IN_PLACE(a_signed_receipt_is_trusted),
        IN_PLACE(forged_signatures_are_refused),
        IN_PLACE(what_is_no_signature_is_refused),
        IN_PLACE(keys_are_kept),
        IN_PLACE(only_verified_kernels_get_one),
        IN_PLACE(it_can_be_for_another_chip),
        IN_PLACE(run_without_one_verifies_first),
    };
    return cmocka_run_group_tests_name("receipts", tests, NULL, NULL);
}
