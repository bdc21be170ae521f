#include "spec/target.h"

#include "spec/members.h"

#define KIB ((int64_t)1 << 10)
#define MIB ((int64_t)1 << 20)

static const tp_target TARGETS[] = {
#define X(name, aliases, gen, cores, mega, vmem, limit, smem, hbm, bw, flops, int8, fp8, int4, mxu, measured)          \
    {{name, sizeof name - 1}, true, gen,   cores, mega, vmem, limit, smem,                                             \
     (int64_t)(hbm),          bw,   flops, int8,  fp8,  int4, mxu,   measured},
#include "spec/targets.def"
#undef X
};

static const char *const ALIASES[] = {
#define X(name, aliases, ...) aliases,
#include "spec/targets.def"
#undef X
};

enum { COUNT = sizeof TARGETS / sizeof *TARGETS };

const tp_target *tp_targets(size_t *n)
{
    *n = COUNT;
    return TARGETS;
}

const char *tp_target_aliases(size_t i)
{
    return ALIASES[i];
}

static bool has_alias(const char *list, tp_str name)
{
    for (const char *p = list; *p;) {
        size_t n = strcspn(p, ",");
        if (tp_str_eq((tp_str){p, n}, name))
            return true;
        p += n + (p[n] == ',');
    }
    return false;
}

bool tp_target_find(tp_str name, tp_target *out)
{
    if (tp_str_is(name, "none")) {
        *out = (tp_target){.name = TP_S("none")};
        return true;
    }
    for (size_t i = 0; i < COUNT; i++)
        if (tp_str_eq(TARGETS[i].name, name) || has_alias(ALIASES[i], name)) {
            *out = TARGETS[i];
            return true;
        }
    return false;
}

tp_str tp_target_nearest(tp_str name)
{
    tp_str names[COUNT + 1];
    for (size_t i = 0; i < COUNT; i++)
        names[i] = TARGETS[i].name;
    names[COUNT] = TP_S("none");
    return tp_nearest(name, names, COUNT + 1);
}

_Noreturn void tp_target_unknown(tp_ctx *c, tp_loc loc, tp_str name)
{
    tp_str near = tp_target_nearest(name);
    tp_raise(c, TP_RULE_SPEC_NAME, loc, tp_did_you_mean(c->arena, near, "\"", "`tileproof targets` lists them"),
             "unknown target \"%.*s\"", TP_FMT(name));
}

static int64_t integer_member(tp_ctx *c, const tp_json *v, const char *key, int64_t least, int64_t otherwise)
{
    const tp_json *m = tp_json_get(v, key);
    if (!m)
        return otherwise;
    if (m->type != TP_J_INT || m->u.integer < least)
        tp_raise(c, TP_RULE_SPEC_STRUCTURE, m->loc, NULL, "\"%s\" is an integer of at least %lld", key,
                 (long long)least);
    return m->u.integer;
}

tp_target tp_target_read(tp_ctx *c, const tp_json *v)
{
    tp_target t;
    if (v->type == TP_J_STRING) {
        if (!tp_target_find(v->u.string, &t))
            tp_target_unknown(c, v->loc, v->u.string);
        return t;
    }
    if (v->type != TP_J_OBJECT)
        tp_raise(c, TP_RULE_SPEC_STRUCTURE, v->loc, NULL, "a target is a name or an object, not %s",
                 tp_json_type_name(v->type));
    tp_check_members(c, v, TP_OBJECT_TARGET);
    const tp_json *base = tp_json_get(v, "base"), *name = tp_json_get(v, "name");
    if (base && base->type != TP_J_STRING)
        tp_raise(c, TP_RULE_SPEC_STRUCTURE, base->loc, NULL, "\"base\" is the name of a target");
    tp_str base_name = base ? base->u.string : TP_S(TP_DEFAULT_TARGET);
    if (!tp_target_find(base_name, &t))
        tp_target_unknown(c, base->loc, base_name);
    if (name && name->type != TP_J_STRING)
        tp_raise(c, TP_RULE_SPEC_STRUCTURE, name->loc, NULL, "\"name\" is a string");
    t.name = name ? name->u.string : tp_printf(c->arena, "%.*s (changed)", TP_FMT(t.name));
    t.vmem_bytes = integer_member(c, v, "vmem_bytes", 1, t.vmem_bytes);
    t.vmem_limit = integer_member(c, v, "vmem_limit_bytes", 1, t.vmem_limit);
    t.smem_bytes = integer_member(c, v, "smem_bytes", 1, t.smem_bytes);
    return t;
}

int64_t tp_target_vmem(const tp_target *t)
{
    return t->vmem_limit ? t->vmem_limit : t->vmem_bytes;
}

int tp_target_cores(const tp_target *t)
{
    return t->megacore ? t->cores : 1;
}
