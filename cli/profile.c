#include "cli/profile.h"

#include "base/file.h"
#include "base/jsonc.h"
#include "base/version.h"
#include "kernels/peaks.h"

static struct json_object *number(tp_arena *a, double v)
{
    return json_object_new_double_s(v, tp_cstr(a, tp_printf(a, "%.6g", v)));
}

static struct json_object *sizes_of(const tp_call *call)
{
    struct json_object *o = json_object_new_object();
    for (uint32_t i = 0; i < call->kernel->nsizes; i++) {
        const tp_size *s = &call->kernel->sizes[i];
        if (tp_is_open_size(s)) /* others follow from the spec */
            json_object_object_add(o, tp_cstr(call->arena, s->name), json_object_new_int64(call->env[s->sym]));
    }
    return o;
}

static struct json_object *seconds_of(tp_arena *a, const tp_profile *p)
{
    struct json_object *o = json_object_new_object();
    json_object_object_add(o, "read", number(a, p->read));
    json_object_object_add(o, "verify", number(a, p->verify));
    json_object_object_add(o, "prepare", number(a, p->stats->prepare));
    json_object_object_add(o, "steps", number(a, p->stats->steps_wall));
    json_object_object_add(o, "steps_cpu", number(a, p->stats->steps_cpu));
    json_object_object_add(o, "write", number(a, p->write));
    return o;
}

/* Shares are of what one core could do in the CPU time of the steps, whatever else ran beside it. */
static struct json_object *peaks_of(tp_arena *a, const tp_profile *p, const tp_peaks *peaks)
{
    struct json_object *o = json_object_new_object();
    double could = p->stats->steps_cpu, bytes = (double)(p->stats->bytes_in + p->stats->bytes_out);
    json_object_object_add(o, "flops_per_second", number(a, peaks->flops));
    json_object_object_add(o, "bytes_per_second", number(a, peaks->bytes));
    json_object_object_add(o, "share_of_flops",
                           could > 0 ? number(a, (double)p->stats->flops / could / peaks->flops) : NULL);
    json_object_object_add(o, "share_of_bytes",
                           could > 0 && peaks->bytes > 0 ? number(a, bytes / could / peaks->bytes) : NULL);
    return o;
}

bool tp_profile_write(tp_cli *c, const tp_profile *p, tp_str *why)
{
    tp_arena *a = c->arena;
    tp_peaks peaks = tp_peaks_measure();
    tp_case dtypes = {.kernel = p->call->kernel, .env = p->call->env};
    struct json_object *o = json_object_new_object(), *bytes = json_object_new_object(),
                       *windows = json_object_new_object();
    json_object_object_add(o, "tileproof_profile", json_object_new_int(TP_PROFILE_VERSION));
    json_object_object_add(o, "tool", json_object_new_string("tileproof " TP_VERSION));
    json_object_object_add(o, "kernel", tp_jsonc_string(p->call->kernel->name));
    json_object_object_add(o, "case", tp_jsonc_string(tp_case_text(a, &dtypes)));
    json_object_object_add(o, "sizes", sizes_of(p->call));
    json_object_object_add(o, "standing", tp_jsonc_string(p->standing));
    json_object_object_add(o, "engine", json_object_new_string("machine"));
    json_object_object_add(o, "instruction_set", json_object_new_string(peaks.instruction_set));
    json_object_object_add(o, "elementary_functions", json_object_new_string(peaks.elementary));
    json_object_object_add(o, "bfloat16_by", json_object_new_string(peaks.bfloats_by));
    json_object_object_add(o, "integers_by", json_object_new_string(peaks.integers_by));
    json_object_object_add(o, "threads", json_object_new_int64(p->stats->threads));
    json_object_object_add(o, "steps", json_object_new_int64(p->stats->steps));
    json_object_object_add(o, "seconds", seconds_of(a, p));
    json_object_object_add(o, "flops", json_object_new_int64(p->stats->flops));
    json_object_object_add(bytes, "read", json_object_new_int64(p->stats->bytes_in));
    json_object_object_add(bytes, "written", json_object_new_int64(p->stats->bytes_out));
    json_object_object_add(o, "bytes", bytes);
    json_object_object_add(windows, "in", json_object_new_int64(p->stats->copies_in));
    json_object_object_add(windows, "out", json_object_new_int64(p->stats->copies_out));
    json_object_object_add(windows, "in_place", json_object_new_int64(p->stats->in_place));
    json_object_object_add(o, "windows", windows);
    json_object_object_add(o, "peaks", peaks_of(a, p, &peaks));
    tp_str text = tp_printf(a, "%.*s\n", TP_FMT(tp_jsonc_text(a, o, TP_JSONC_SPACED)));
    json_object_put(o);
    return tp_write_file(a, tp_cstr(a, tp_option(&c->profile, "")), &text, 1, why) == TP_OK;
}
