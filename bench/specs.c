/* Distinct random specs with bodies, as the tests make them. usage: specs FOLDER COUNT SEED */
#include "tests/unit/random_body.h"

int main(int argc, char **argv)
{
    if (argc != 4)
        return 2;
    uint64_t count = strtoull(argv[2], NULL, 10), seed = strtoull(argv[3], NULL, 10);
    for (uint64_t i = 0; i < count; i++) {
        tp_arena *a = tp_arena_new(0);
        maker g = {.a = a, .rng = tp_rng_new(seed, i)};
        FILE *f = fopen(tp_printf(a, "%s/s%06llu.tile.json", argv[1], (unsigned long long)i).p, "w");
        if (!f || fputs(make_spec(&g), f) < 0 || fclose(f) != 0)
            return 1;
        tp_arena_free(a);
    }
    return 0;
}
