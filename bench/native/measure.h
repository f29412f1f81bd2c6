// Measurement for the load generator: time, CPU accounting, latencies.
#pragma once
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#define SECOND 1000000000ull
#define MOST_PIDS 256

static uint64_t now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (uint64_t)time.tv_sec * SECOND + (uint64_t)time.tv_nsec;
}

static void fail(const char *what) {
    fprintf(stderr, "load: %s: %s\n", what, strerror(errno));
    exit(1);
}

static void *allocate(void *old, size_t size) {
    void *memory = realloc(old, size);
    if (memory == NULL) fail("out of memory");
    return memory;
}

static void read_whole(const char *path, char **bytes, size_t *length) {
    FILE *file = fopen(path, "rb");
    if (file == NULL) fail(path);
    fseek(file, 0, SEEK_END);
    *length = (size_t)ftell(file);
    rewind(file);
    *bytes = allocate(NULL, *length + 1);
    if (fread(*bytes, 1, *length, file) != *length) fail(path);
    fclose(file);
}

static double cpu_seconds(int pid) {
    char path[64], text[1024];
    snprintf(path, sizeof path, "/proc/%d/stat", pid);
    FILE *file = fopen(path, "r");
    if (file == NULL) return 0;
    text[fread(text, 1, sizeof text - 1, file)] = 0;
    fclose(file);
    unsigned long user = 0, system = 0;
    char *after_name = strrchr(text, ')'); // the name can contain any character
    if (after_name) sscanf(after_name + 2, "%*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %lu %lu", &user, &system);
    return (double)(user + system) / (double)sysconf(_SC_CLK_TCK);
}

// Busy, stolen and total clock ticks of the core.
static void read_core(int core, double *busy, double *stolen, double *all) {
    char line[512], name[16];
    snprintf(name, sizeof name, "cpu%d ", core);
    *busy = *stolen = *all = 0;
    FILE *file = fopen("/proc/stat", "r");
    if (file == NULL) return;
    while (fgets(line, sizeof line, file)) {
        if (strncmp(line, name, strlen(name)) != 0) continue;
        double user, nice, system, rest, io, irq, soft, steal = 0;
        sscanf(line + strlen(name), "%lf %lf %lf %lf %lf %lf %lf %lf", &user, &nice, &system, &rest, &io, &irq, &soft, &steal);
        *busy = user + nice + system + irq + soft;
        *stolen = steal;
        *all = *busy + rest + io + steal;
    }
    fclose(file);
}

static double own_cpu(void) {
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    return (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) + (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1e6;
}

// CPU seconds of the processes and of this one, and clock ticks of the core.
struct snapshot { double cpu[MOST_PIDS], own, busy, stolen, all; uint64_t time; };

static struct snapshot take_snapshot(const int *pids, int pid_count, int core) {
    struct snapshot taken;
    for (int i = 0; i < pid_count; i++) taken.cpu[i] = cpu_seconds(pids[i]);
    taken.own = own_cpu();
    read_core(core, &taken.busy, &taken.stolen, &taken.all);
    taken.time = now();
    return taken;
}

static uint32_t *latencies; // in tenths of a microsecond
static size_t latency_count, latency_capacity;

static void note_latency(uint64_t nanoseconds) {
    if (latency_count == latency_capacity) latencies = allocate(latencies, (latency_capacity = latency_capacity * 2 + 65536) * sizeof *latencies);
    latencies[latency_count++] = nanoseconds > 400 * SECOND ? UINT32_MAX : (uint32_t)(nanoseconds / 100);
}

static int compare_latencies(const void *one, const void *other) {
    uint32_t a = *(const uint32_t *)one, b = *(const uint32_t *)other;
    return (a > b) - (a < b);
}

static void sort_latencies(void) {
    if (latency_count > 0) qsort(latencies, latency_count, sizeof *latencies, compare_latencies);
}

// Microseconds; sort_latencies must run first.
static double percentile(double share) {
    if (latency_count == 0) return 0;
    size_t index = (size_t)(share * (double)latency_count);
    return latencies[index < latency_count ? index : latency_count - 1] / 10.0;
}
