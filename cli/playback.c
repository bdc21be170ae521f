/* --playback: the failing cases, as something that verify or run can execute. */
#include <errno.h>
#include <stdio.h>
#include <sys/stat.h>

#include "base/file.h"
#include "base/jsonc.h"
#include "cli/check.h"

typedef struct json_object json;

typedef struct playback {
    tp_cli *c;
    bool arrays; /* npy=FOLDER: inputs and a command for each case */
    tp_str path;
    json *cases;
    uint32_t count;
    tp_str why; /* the first thing that went wrong */
} playback;

/* Write the inputs that the replay used, and how to run them. Empty when the
 * arrays cannot be made. */
static tp_str write_arrays(playback *p, const tp_spec_report *s, const tp_kernel *k, const tp_witness *w, size_t room)
{
    tp_arena *a = tp_arena_new(room);
    tp_buf command = {.arena = p->c->arena};
    int64_t *env = TP_NEWN(p->c->arena, int64_t, tp_sym_count(k->exprs)), dims[TP_MAX_RANK];
    tp_str why = {NULL, 0};
    bool ok = a != NULL && k->ntables == 0; /* tables are lists in the case, and `run` reads files */
    tp_bind_sizes(k, w, env);
    tp_buf_printf(&command, "tileproof run --unchecked %.*s", TP_FMT(s->source->path));
    for (uint32_t i = 0; i < k->ninputs && ok; i++) {
        const tp_operand *o = &k->operands[i];
        if (o->array >= 0)
            continue;
        tp_str file = tp_printf(p->c->arena, "%.*s/%u-%.*s.npy", TP_FMT(p->path), p->count, TP_FMT(o->name));
        ok = tp_operand_dims(k, o, env, dims, &why) && tp_dtype_info(o->dtype)->executable;
        int64_t bytes = ok ? (int64_t)tp_dtype_size(o->dtype) : 0;
        for (uint32_t d = 0; d < o->rank && ok; d++)
            bytes *= dims[d] ? dims[d] : 1;
        ok = ok && bytes <= (int64_t)room / 2;
        if (!ok)
            break;
        tp_arena_clear(a);
        tp_tensor t = tp_tensor_new(a, o->dtype, o->rank, dims);
        tp_fill_input(k, env, i, &t, TP_INPUT_NORMAL, 8, 0);
        if (tp_tensor_write(a, file, o->name, &t, &why) != TP_OK) {
            p->why = tp_printf(p->c->arena, "%.*s", TP_FMT(why));
            ok = false;
        }
        tp_buf_printf(&command, " --input %.*s=%.*s", TP_FMT(o->name), TP_FMT(file));
    }
    for (uint32_t i = 0; i < w->sizes.len; i++)
        tp_buf_printf(&command, " --size %.*s=%lld", TP_FMT(w->sizes.at[i].name), (long long)w->sizes.at[i].value);
    for (uint32_t i = 0; i < k->ndtypes; i++)
        tp_buf_printf(&command, " --dtype %.*s=%s", TP_FMT(k->dtypes[i].name),
                      tp_dtype_info(k->dtypes[i].choice)->name);
    tp_arena_free(a);
    return ok ? tp_buf_view(&command) : (tp_str){NULL, 0};
}

static void add(playback *p, const tp_spec_report *s, const tp_finding *f, size_t room)
{
    const tp_kernel *k = s->spec->kernels[tp_kernel_of_witness(s->spec, f->witness)];
    json *o = json_object_new_object(), *sizes = json_object_new_object(), *dtypes = json_object_new_object();
    p->count++;
    for (uint32_t i = 0; i < f->witness->sizes.len; i++)
        json_object_object_add(sizes, tp_cstr(p->c->arena, f->witness->sizes.at[i].name),
                               json_object_new_int64(f->witness->sizes.at[i].value));
    for (uint32_t i = 0; i < k->ndtypes; i++)
        json_object_object_add(dtypes, tp_cstr(p->c->arena, k->dtypes[i].name),
                               json_object_new_string(tp_dtype_info(k->dtypes[i].choice)->name));
    json_object_object_add(o, "spec", tp_jsonc_string(tp_visible(p->c->arena, s->source->path)));
    json_object_object_add(o, "rule", json_object_new_string(f->rule));
    json_object_object_add(o, "subject", tp_jsonc_string(f->subject));
    json *one = json_object_new_object(); /* an entry of "cases" */
    json_object_object_add(one, "sizes", sizes);
    json_object_object_add(one, "dtypes", dtypes);
    if (f->witness->contents.n)
        json_object_object_add(one, "tables",
                               tp_jsonc_made(json_tokener_parse(tp_cstr(p->c->arena, f->witness->contents))));
    json_object_object_add(o, "replay", json_object_new_string(f->witness->replay));
    json_object_object_add(o, "case", one);
    tp_str command = p->arrays && strcmp(f->witness->replay, "executed") == 0 ? write_arrays(p, s, k, f->witness, room)
                                                                              : (tp_str){NULL, 0};
    json_object_object_add(o, "run", tp_jsonc_string_or_null(command));
    json_object_array_add(p->cases, o);
}

/* FORMAT=PATH */
static bool parse(tp_cli *c, playback *p)
{
    tp_str value = tp_option(&c->playback, "");
    *p = (playback){.c = c};
    bool json_file = value.n > 5 && memcmp(value.p, "json=", 5) == 0;
    p->arrays = value.n > 4 && memcmp(value.p, "npy=", 4) == 0;
    if (!json_file && !p->arrays)
        return tp_usage_error("--playback is json=FILE or npy=FOLDER, not `%.*s`", TP_FMT(value)), false;
    size_t skip = json_file ? 5 : 4;
    p->path = (tp_str){value.p + skip, value.n - skip};
    return true;
}

bool tp_playback_usable(tp_cli *c)
{
    playback p;
    if (c->playback.len == 0)
        return true;
    if (!parse(c, &p))
        return false;
    if (!p.arrays && !tp_can_write(c, "playback", p.path))
        return false;
    if (p.arrays && mkdir(tp_cstr(c->arena, p.path), 0777) != 0 && errno != EEXIST)
        return tp_usage_error("--playback: cannot make the folder `%.*s`: %s", TP_FMT(p.path), strerror(errno)), false;
    return true;
}

bool tp_write_playback(tp_cli *c, const tp_report *r, size_t room)
{
    playback p;
    if (c->playback.len == 0)
        return true;
    parse(c, &p);
    p.cases = json_object_new_array();
    for (uint32_t i = 0; i < r->specs.len; i++)
        for (uint32_t k = 0; r->specs.at[i].spec && k < r->specs.at[i].findings.len; k++) {
            const tp_finding *f = &r->specs.at[i].findings.at[k];
            if (f->verdict == TP_VIOLATED && f->witness && !f->suppressed)
                add(&p, &r->specs.at[i], f, room);
        }
    tp_str file = p.arrays ? tp_printf(c->arena, "%.*s/playback.json", TP_FMT(p.path)) : p.path, why;
    tp_str whole = tp_printf(c->arena, "%.*s\n", TP_FMT(tp_jsonc_text(c->arena, p.cases, TP_JSONC_PRETTY)));
    json_object_put(p.cases);
    if (tp_write_file(c->arena, tp_cstr(c->arena, file), &whole, 1, &why) != TP_OK)
        p.why = why;
    if (p.why.n)
        tp_say(stderr, "tileproof: --playback: %.*s", TP_FMT(p.why));
    return p.why.n == 0;
}
