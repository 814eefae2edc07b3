// The machine's own limits, measured as a peer: rows fma (fused multiply-adds in registers only; info
// says how many operations a step has), and copy/BYTES, axpy/BYTES and read/BYTES (one pass over two arrays of
// BYTES in all); the variant is the number of threads. "limits spin" keeps a core busy instead.
#include <cstdlib>
#include <cstring>
#include <memory>
#include <thread>
#include <vector>

#include "protocol.h"

#if defined(__AVX512F__)
#define LANES 16
#elif defined(__AVX__)
#define LANES 8
#else
#define LANES 4
#endif
typedef float vec __attribute__((vector_size(LANES * 4)));

// CHAINS independent accumulators hide the latency of two units and fit sixteen registers.
static const int CHAINS = 10;
static const long FMA_STEPS = 1 << 16;

static double fma_step(long steps) {
    vec acc[CHAINS], scale = vec{} + 0.999f, add = vec{} + 0.001f;
    for (int c = 0; c < CHAINS; c++) {
        acc[c] = vec{} + float(c);
        asm volatile("" : "+x"(acc[c]));  // unknown to the compiler, which else computes chains ahead
    }
    for (long i = 0; i < steps * FMA_STEPS; i++) {
#pragma GCC unroll 10
        for (int c = 0; c < CHAINS; c++) acc[c] = acc[c] * scale + add;
    }
    vec sum = {};
    for (int c = 0; c < CHAINS; c++) sum += acc[c];
    return sum[0];
}

static double copy_pass(std::vector<float>& x, std::vector<float>& y, long steps) {
    for (long s = 0; s < steps; s++) {
        std::memcpy(y.data(), x.data(), 4 * x.size());
        asm volatile("" ::: "memory");
    }
    return y[0];
}

static double axpy_pass(std::vector<float>& x, std::vector<float>& y, long steps) {
    float *from = x.data(), *to = y.data();
    for (long s = 0; s < steps; s++) {
#pragma GCC ivdep
        for (size_t i = 0; i < x.size(); i++) to[i] += 1e-3f * from[i];
        asm volatile("" ::: "memory");
    }
    return y[0];
}

static double read_pass(std::vector<float>& x, std::vector<float>& y, long steps) {
    const int chains = 8;
    vec sum[chains] = {};
    for (long s = 0; s < steps; s++) {
        for (auto* v : {&x, &y}) {
            const float* from = v->data();
            for (size_t i = 0; i + chains * LANES <= v->size(); i += chains * LANES)
#pragma GCC unroll 8
                for (int c = 0; c < chains; c++) {
                    vec part;
                    std::memcpy(&part, from + i + c * LANES, sizeof part);
                    sum[c] += part;
                }
        }
        asm volatile("" ::: "memory");
    }
    for (int c = 1; c < chains; c++) sum[0] += sum[c];
    return sum[0][0];
}

// on_threads runs work(thread, steps) on so many threads at once.
static Step on_threads(int threads, std::function<double(int, long)> work) {
    return [=](long steps) {
        std::vector<std::thread> others;
        for (int t = 1; t < threads; t++) others.emplace_back(work, t, steps);
        double value = work(0, steps);
        for (auto& t : others) t.join();
        return value;
    };
}

static Step build(const std::string& row, const std::string& variant) {
    const int threads = std::atoi(variant.c_str());
    if (threads < 1) throw std::runtime_error("bad number of threads " + variant);
    if (row == "fma") return on_threads(threads, [](int, long steps) { return fma_step(steps); });
    const size_t slash = row.find('/');
    if (slash == row.npos) throw std::runtime_error("unknown row " + row);
    const std::string kind = row.substr(0, slash);
    const size_t floats = std::atol(row.c_str() + slash + 1) / 8 / threads;
    struct Arrays { std::vector<float> x, y; };
    auto all = std::make_shared<std::vector<Arrays>>();
    for (int t = 0; t < threads; t++) all->push_back({std::vector<float>(floats, 1), std::vector<float>(floats, 1)});
    auto pass = kind == "copy" ? copy_pass : kind == "axpy" ? axpy_pass : read_pass;
    return on_threads(threads, [=](int t, long steps) { return pass((*all)[t].x, (*all)[t].y, steps); });
}

int main(int argc, char** argv) {
    if (argc > 1 && !std::strcmp(argv[1], "spin"))
        for (volatile long i = 0;;) i = i + 1;
    std::ostringstream info;
    info << "{\"name\":\"limits\",\"version\":\"" << __VERSION__ << "\",\"settings\":\"-O3 -march=native, " << LANES
         << " lanes\",\"flops\":" << 2.0 * LANES * CHAINS * FMA_STEPS << "}";
    return serve(info.str(), build);
}
