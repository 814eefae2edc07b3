// The line protocol of a peer, for peers written in C++ (bench/README.md describes it).
#pragma once
#include <chrono>
#include <ctime>
#include <functional>
#include <iostream>
#include <map>
#include <sstream>
#include <stdexcept>
#include <string>

// Step does so many steps and returns a value that depends on their result.
using Step = std::function<double(long steps)>;

inline double cpu_seconds() {
    timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return t.tv_sec + 1e-9 * t.tv_nsec;
}

inline double wall_seconds() {
    using namespace std::chrono;
    return duration<double>(steady_clock::now().time_since_epoch()).count();
}

// serve answers requests from stdin until it ends. build makes one row ready.
inline int serve(const std::string& info, const std::function<Step(const std::string& row, const std::string& variant)>& build) {
    const long warm_up = 2;
    std::map<std::string, Step> loaded;
    std::string line;
    while (std::getline(std::cin, line)) {
        std::istringstream words(line);
        std::string verb, row, variant;
        words >> verb >> row >> variant;
        std::ostringstream reply;
        reply.precision(9);
        try {
            const std::string key = row + " " + variant;
            if (verb == "info") {
                reply << info;
            } else if (verb == "load" || verb == "first") {
                loaded[key] = build(row, variant);
                reply << "{\"loss\":" << loaded[key](verb == "load" ? warm_up : 1) << "}";
            } else if (verb == "drop") {
                loaded.erase(key);
                reply << "{}";
            } else if (verb == "run") {
                long steps = 0;
                words >> steps;
                Step& step = loaded.at(key);
                double cpu = cpu_seconds(), wall = wall_seconds();
                double value = step(steps);
                wall = wall_seconds() - wall, cpu = cpu_seconds() - cpu;
                reply << "{\"wall\":" << wall << ",\"cpu\":" << cpu << ",\"steps\":" << steps << ",\"loss\":" << value << "}";
            } else {
                throw std::runtime_error("unknown request " + verb);
            }
        } catch (const std::exception& err) {
            reply.str("");
            reply << "{\"error\":\"" << err.what() << "\"}";
        }
        std::cout << reply.str() << std::endl;
    }
    return 0;
}
