// Verify kernels in a process of our own, one per thread, and collect the findings.
//
//     c++ verify.cpp $(pkg-config --cflags --libs tileproof-verify) -pthread -o verify
//     ./verify SPEC...
#include <cstdio>
#include <string>
#include <thread>
#include <vector>

#include <tileproof_verify.h>

struct Result {
    std::string path;
    tileproof_status status = TILEPROOF_INTERNAL;
    std::vector<std::string> findings;
};

static void check(Result *r)
{
    auto sink = [](void *context, const tileproof_finding *f) {
        static_cast<Result *>(context)->findings.push_back((f->rule ? std::string(f->rule) + ": " : std::string()) +
                                                           f->message);
    };
    tileproof_kernel *kernel = nullptr;
    tileproof_verify_options options = {};
    options.cases = 2;
    r->status = tileproof_load_file(r->path.c_str(), nullptr, sink, r, &kernel);
    if (r->status == TILEPROOF_OK)
        r->status = tileproof_verify(kernel, &options, sink, r);
    tileproof_free(kernel);
}

int main(int argc, char **argv)
{
    std::vector<Result> results(static_cast<std::size_t>(argc - 1));
    std::vector<std::thread> threads;
    for (int i = 1; i < argc; i++) {
        results[static_cast<std::size_t>(i - 1)].path = argv[i];
        threads.emplace_back(check, &results[static_cast<std::size_t>(i - 1)]);
    }
    for (auto &t : threads)
        t.join();
    bool all = true;
    for (const auto &r : results) {
        std::printf("%s: %s\n", r.path.c_str(), tileproof_status_name(r.status));
        for (const auto &f : r.findings)
            std::printf("  %s\n", f.c_str());
        all = all && r.status == TILEPROOF_OK;
    }
    return all ? 0 : 1;
}
