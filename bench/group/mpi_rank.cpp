// One rank of Open MPI as a peer; cmd/allreduce has mpirun start it. The row is the list of the buffers' sizes in
// elements, which are reduced in place one after the other.
#include <mpi.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <vector>

#include "protocol.h"

// attach takes requests from the crew instead of stdin, and answers there.
static void attach(int rank) {
    sockaddr_un to{};
    to.sun_family = AF_UNIX;
    std::strncpy(to.sun_path, std::getenv("BENCH_CONTROL"), sizeof to.sun_path - 1);
    int fd = socket(AF_UNIX, SOCK_STREAM, 0);
    if (connect(fd, reinterpret_cast<sockaddr*>(&to), sizeof to) != 0) std::exit(1);
    dup2(fd, 0);
    dup2(fd, 1);
    std::cout << "rank " << rank << std::endl;
}

int main(int argc, char** argv) {
    MPI_Init(&argc, &argv);
    int rank, size;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    attach(rank);
    char version[MPI_MAX_LIBRARY_VERSION_STRING];
    int length;
    MPI_Get_library_version(version, &length);
    serve("{}", [&](const std::string& row, const std::string&) -> Step {
        std::vector<std::vector<float>> buffers;
        std::istringstream sizes(row);
        for (std::string n; std::getline(sizes, n, ',');) buffers.emplace_back(std::stoul(n), float(rank + 1));
        auto step = [](std::vector<std::vector<float>>& all) {
            for (auto b = all.rbegin(); b != all.rend(); ++b)
                MPI_Allreduce(MPI_IN_PLACE, b->data(), int(b->size()), MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
        };
        step(buffers);
        for (auto& b : buffers) {
            if (b.front() != size * (size + 1) / 2.0f || b.back() != b.front()) throw std::runtime_error("wrong sum");
            std::fill(b.begin(), b.end(), 0.0f);
        }
        return [=](long steps) mutable {
            while (steps-- > 0) step(buffers);
            return double(buffers[0][0]);
        };
    });
    MPI_Finalize();
}
