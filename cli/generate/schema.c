#include "base/jsonc.h"
#include "cli/generate/generate.h"
#include "spec/members.h"

typedef struct json_object json;

/* The definitions that rows of members.def name with a $. */
static const struct {
    const char *mark, *schema;
} MARKS[] = {
    {"$EXPRESSION", "{'$ref': '#/$defs/expression'}"}, {"$NAME", "{'$ref': '#/$defs/name'}"},
    {"$DTYPE", "{'$ref': '#/$defs/dtype'}"},           {"$LINES", "{'$ref': '#/$defs/lines'}"},
    {"$TARGETS", "{'$ref': '#/$defs/targets'}"},       {"$RULES", "{'$ref': '#/$defs/rules'}"},
    {"$CONTENTS", "{'$ref': '#/$defs/contents'}"},     {"$SHAPE", "{'$ref': '#/$defs/shape'}"},
    {"$BLOCK", "{'$ref': '#/$defs/block'}"},           {"$SHARD", "{'$ref': '#/$defs/shard'}"},
};

static json *parse(const char *text)
{
    char copy[2048];
    size_t n = 0;
    for (const char *p = text; *p && n < sizeof copy - 64;) {
        const char *with = NULL;
        for (size_t i = 0; i < sizeof MARKS / sizeof *MARKS && !with; i++)
            if (strncmp(p, MARKS[i].mark, strlen(MARKS[i].mark)) == 0) {
                with = MARKS[i].schema;
                p += strlen(MARKS[i].mark);
            }
        if (strncmp(p, "$OBJECT(", 8) == 0) {
            size_t len = strcspn(p + 8, ")");
            n += (size_t)snprintf(copy + n, sizeof copy - n, "{'$ref': '#/$defs/%.*s'}", (int)len, p + 8);
            p += 9 + len;
            continue;
        }
        if (with)
            n += (size_t)snprintf(copy + n, sizeof copy - n, "%s", with);
        else
            copy[n++] = *p++;
    }
    copy[n] = '\0';
    for (size_t i = 0; i < n; i++)
        copy[i] = copy[i] == '\'' ? '"' : copy[i];
    return tp_jsonc_made(json_tokener_parse(copy));
}

static void add_string(json *list, const char *s)
{
    json_object_array_add(list, json_object_new_string(s));
}

static json *targets(void)
{
    json *o = json_object_new_object(), *list = json_object_new_array();
    size_t n;
    const tp_target *all = tp_targets(&n);
    for (size_t i = 0; i < n; i++) {
        add_string(list, all[i].name.p);
        for (const char *alias = tp_target_aliases(i); *alias;) {
            size_t len = strcspn(alias, ",");
            json_object_array_add(list, tp_jsonc_string((tp_str){alias, len}));
            alias += len + (alias[len] == ',');
        }
    }
    add_string(list, "none");
    json_object_object_add(o, "enum", list);
    return o;
}

static json *rules(void)
{
    json *o = json_object_new_object(), *list = json_object_new_array();
    size_t n, m;
    const tp_rule *const *all = tp_rules(&n);
    const tp_code *codes = tp_codes(&m);
    for (size_t i = 0; i < n; i++) {
        add_string(list, all[i]->code);
        add_string(list, all[i]->slug);
    }
    for (size_t i = 0; i < m; i++) {
        add_string(list, codes[i].code);
        add_string(list, codes[i].slug);
    }
    json_object_object_add(o, "enum", list);
    return o;
}

/* The names are for completion: a parameter of "dtypes" may stand there, too. */
static json *dtypes(void)
{
    json *o = json_object_new_object(), *any = json_object_new_array(), *named = json_object_new_object(),
         *list = json_object_new_array();
    for (int d = 0; d < TP_DTYPES; d++)
        add_string(list, tp_dtype_info((tp_dtype)d)->name);
    json_object_object_add(named, "enum", list);
    json_object_array_add(any, named);
    json_object_array_add(any, parse("$NAME"));
    json_object_object_add(o, "anyOf", any);
    return o;
}

static json *object_schema(tp_object of)
{
    json *o = json_object_new_object(), *properties = json_object_new_object(), *required = json_object_new_array();
    size_t n;
    const tp_member_row *rows = tp_members(&n);
    json_object_object_add(o, "type", json_object_new_string("object"));
    for (size_t i = 0; i < n; i++) {
        if (rows[i].object != of || rows[i].need == TP_LATER)
            continue;
        json *schema = parse(rows[i].schema);
        json_object_object_add(schema, "description", json_object_new_string(rows[i].text));
        json_object_object_add(properties, rows[i].key, schema);
        if (rows[i].need == TP_REQUIRED)
            add_string(required, rows[i].key);
    }
    if (json_object_array_length(required))
        json_object_object_add(o, "required", required);
    else
        json_object_put(required);
    json_object_object_add(o, "properties", properties);
    json_object_object_add(o, "patternProperties", parse("{'^x-': true, '^[$](schema|comment)$': true}"));
    json_object_object_add(o, "additionalProperties", json_object_new_boolean(false));
    return o;
}

static void print(tp_arena *a, json *o, FILE *out)
{
    fprintf(out, "%.*s\n", TP_FMT(tp_jsonc_text(a, o, TP_JSONC_SPACED)));
    json_object_put(o);
}

void tp_print_schema(tp_arena *a, FILE *out)
{
    json *o = object_schema(TP_OBJECT_SPEC), *defs = json_object_new_object(), *top = json_object_new_object();
    json_object_object_add(top, "$schema", json_object_new_string("https://json-schema.org/draft/2020-12/schema"));
    json_object_object_add(top, "title", json_object_new_string("tileproof kernel spec"));
    json_object_object_foreach (o, key, value)
        json_object_object_add(top, key, json_object_get(value));
    json_object_put(o);
    json_object_object_add(defs, "name", parse("{'type': 'string', 'pattern': '^[A-Za-z_][A-Za-z0-9_]*$'}"));
    json_object_object_add(defs, "expression",
                           parse("{'type': ['integer', 'string'], 'description': 'an integer, or an expression: + - * "
                                 "// % cdiv min max align_up ...'}"));
    json_object_object_add(defs, "shape", parse("{'type': 'array', 'maxItems': 8, 'items': $EXPRESSION}"));
    json_object_object_add(
        defs, "block",
        parse(
            "{'type': 'array', 'maxItems': 8, 'items': {'anyOf': [$EXPRESSION, {'type': 'null'}, $OBJECT(ELEMENT)]}}"));
    json_object_object_add(defs, "shard",
                           parse("{'type': 'array', 'maxItems': 8, 'items': {'anyOf': [{'type': 'null'}, $NAME, "
                                 "{'type': 'array', 'maxItems': 3, 'uniqueItems': true, 'items': $NAME}]}}"));
    json_object_object_add(
        defs, "contents",
        parse("{'anyOf': [{'type': 'integer'}, {'type': 'boolean'}, {'type': 'array', 'items': $CONTENTS}]}"));
    json_object_object_add(defs, "lines", parse("{'type': 'array', 'items': {'type': 'string'}}"));
    json_object_object_add(defs, "targets", targets());
    json_object_object_add(defs, "dtype", dtypes());
    json_object_object_add(defs, "rules", rules());
    for (int i = TP_OBJECT_SPEC + 1; i < TP_OBJECTS; i++)
        json_object_object_add(defs, tp_object_name((tp_object)i), object_schema((tp_object)i));
    json_object_object_add(top, "$defs", defs);
    print(a, top, out);
}

void tp_print_settings_schema(tp_arena *a, FILE *out)
{
    json *o = json_object_new_object(), *properties = json_object_new_object();
    size_t n;
    const tp_option_row *rows = tp_option_rows(&n);
    json_object_object_add(o, "$schema", json_object_new_string("https://json-schema.org/draft/2020-12/schema"));
    json_object_object_add(o, "title", json_object_new_string("tileproof settings (.tileproof.json)"));
    json_object_object_add(o, "type", json_object_new_string("object"));
    json_object_object_add(properties, "$schema", parse("{'type': 'string'}"));
    for (size_t i = 0; i < n; i++) {
        if (!strchr(rows[i].commands, 'C'))
            continue;
        json *schema =
            parse(!rows[i].metavar ? "{'type': 'boolean'}"
                                   : "{'anyOf': [{'type': 'string', 'minLength': 1}, {'type': 'integer'}, {'type': "
                                     "'array', 'items': {'type': ['string', 'integer'], 'minLength': 1}}]}");
        json_object_object_add(schema, "description", json_object_new_string(rows[i].help));
        json_object_object_add(properties, rows[i].name, schema);
    }
    json_object_object_add(o, "properties", properties);
    json_object_object_add(o, "additionalProperties", json_object_new_boolean(false));
    print(a, o, out);
}
