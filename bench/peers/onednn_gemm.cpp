// oneDNN's dnnl_sgemm as a peer for matrix products. Rows read MxNxK, with :tA or :tB for a
// transposed operand.
#include <dnnl.h>
#include <cstdio>
#include <memory>
#include <random>
#include <vector>

#include "protocol.h"

static std::vector<float> uniform(size_t n, unsigned seed) {
    std::mt19937 random(seed);
    std::uniform_real_distribution<float> draw(-1, 1);
    std::vector<float> v(n);
    for (float& x : v) x = draw(random);
    return v;
}

static Step build(const std::string& row, const std::string&) {
    dnnl_dim_t m, n, k;
    if (std::sscanf(row.c_str(), "%ldx%ldx%ld", &m, &n, &k) != 3) throw std::runtime_error("bad row " + row);
    const bool ta = row.find(":tA") != row.npos, tb = row.find(":tB") != row.npos;
    struct Operands { std::vector<float> a, b, c; };
    auto x = std::make_shared<Operands>(Operands{uniform(m * k, 1), uniform(k * n, 2), std::vector<float>(m * n)});
    return [=](long steps) {
        for (long i = 0; i < steps; i++) {
            dnnl_status_t status = dnnl_sgemm(ta ? 'T' : 'N', tb ? 'T' : 'N', m, n, k, 1, x->a.data(), ta ? m : k,
                                              x->b.data(), tb ? k : n, 0, x->c.data(), n);
            if (status != dnnl_success) throw std::runtime_error("dnnl_sgemm failed");
        }
        return double(x->c[0]);
    };
}

int main() {
    const dnnl_version_t* v = dnnl_version();
    std::ostringstream info;
    info << "{\"name\":\"oneDNN\",\"version\":\"" << v->major << "." << v->minor << "." << v->patch
         << "\",\"settings\":\"dnnl_sgemm, OpenMP\"}";
    return serve(info.str(), build);
}
