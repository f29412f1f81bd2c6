// The callers of the benchmark: HTTP/1.1 requests to 127.0.0.1, one thread, one epoll. Every response is
// compared with the expected body, byte by byte; a NUL in it stands for any byte. Prints one line of JSON.
// Times are monotonic, latencies in microseconds.
//
//   load closed  closed loop: each connection sends the next request when the response is complete
//   load rate    --rate requests per second on a fixed schedule, over as many connections as necessary; latency counts from the
//                scheduled time, even if the request waited for a connection (no coordinated omission)
//   load hold    each connection opens one stream and reads it; latency is the age of each event, by the send time in the event.
//                Prints "opened" when all streams have started and "left" when all are closed.
//
//   --port P --request FILE (head and body) --expect FILE (response body) --connections N --warmup S
//   --seconds S --rate R --cpu PID,PID (prints their CPU seconds) --core N (prints its utilization)
//
// It exits when stdin closes. Build: gcc -O2 -o load load.c
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "measure.h"

#define OPENINGS_A_SECOND 1000 // spreads the events of paced streams over the interval
#define DRAIN (5 * SECOND)

enum state { HEAD, BODY, CHUNK_SIZE, CHUNK, CHUNK_END, TRAILER };

struct connection {
    int fd;
    enum state state;
    char head[16384]; // incomplete head, or chunk-size line
    size_t head_length;
    int status;
    bool keep_alive, chunked, wrong, asking, counted, started;
    uint64_t left;   // remaining bytes of the body or chunk
    uint64_t offset; // position in the body
    size_t sent;     // sent bytes of the request
    uint64_t since;  // send time or scheduled time
    int digits;      // parsed digits of an event's stamp, -1 outside
    uint64_t number, stamp;
    uint32_t next_number;
    struct connection *next_idle;
};

static enum { CLOSED, RATE, HOLD } mode;
static int port, core = -1, poller, pids[MOST_PIDS], pid_count;
static unsigned connection_count = 1;
static double warmup = 1, seconds = 5, rate = 500;
static struct { char *bytes; size_t length; } request, expected;
static struct connection *connections, *idle;

static struct { uint64_t answers, events, bytes, status, body, broken, reconnects; } count;
static bool measuring;
static uint64_t *waiting; // scheduled times of queued requests: a ring buffer
static size_t waiting_first, waiting_count;
#define MOST_WAITING (1u << 20)
static char first_error[512];
static unsigned opened;

static struct snapshot before, after;

static void print_results(void) {
    sort_latencies();
    double all = after.all - before.all;
    printf("{\"seconds\":%.6f,\"answers\":%llu,\"events\":%llu,\"bytes\":%llu,\"errors\":{\"status\":%llu,\"body\":%llu,\"broken\":%llu},"
           "\"reconnects\":%llu,\"p50\":%.1f,\"p90\":%.1f,\"p99\":%.1f,\"p999\":%.1f,\"max\":%.1f,\"samples\":%zu,\"coreBusy\":%.4f,"
           "\"coreStolen\":%.4f,\"loadCpu\":%.6f,\"cpu\":[",
           (double)(after.time - before.time) / 1e9, (unsigned long long)count.answers, (unsigned long long)count.events,
           (unsigned long long)count.bytes, (unsigned long long)count.status, (unsigned long long)count.body,
           (unsigned long long)count.broken, (unsigned long long)count.reconnects, percentile(.5), percentile(.9), percentile(.99),
           percentile(.999), percentile(1), latency_count, all > 0 ? (after.busy - before.busy) / all : 0,
           all > 0 ? (after.stolen - before.stolen) / all : 0, after.own - before.own);
    for (int i = 0; i < pid_count; i++) printf("%s%.2f", i ? "," : "", after.cpu[i] - before.cpu[i]);
    printf("]}\n");
    fflush(stdout);
    if (first_error[0]) fprintf(stderr, "load: the first error: %s\n", first_error);
}

// --- One connection ---

static void explain(const struct connection *c, const char *what) {
    if (first_error[0] == 0) snprintf(first_error, sizeof first_error, "%s, status %d, after %llu bytes of the body", what, c->status, (unsigned long long)c->offset);
}

static void watch(struct connection *c, int operation, bool writable) {
    struct epoll_event event = {.events = EPOLLIN | (writable ? EPOLLOUT : 0), .data.ptr = c};
    epoll_ctl(poller, operation, c->fd, &event);
}

static void open_connection(struct connection *c) {
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK), .sin_port = htons((uint16_t)port)};
    int yes = 1;
    c->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (c->fd < 0 || connect(c->fd, (struct sockaddr *)&address, sizeof address)) fail("connecting");
    setsockopt(c->fd, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
    fcntl(c->fd, F_SETFL, O_NONBLOCK);
    watch(c, EPOLL_CTL_ADD, false);
}

static void send_request(struct connection *c, bool was_waiting) {
    ssize_t sent = send(c->fd, request.bytes + c->sent, request.length - c->sent, MSG_NOSIGNAL);
    if (sent > 0) c->sent += (size_t)sent;
    // A closed connection shows up at the next read.
    bool waits = c->sent < request.length && (sent >= 0 || errno == EAGAIN);
    if (waits != was_waiting) watch(c, EPOLL_CTL_MOD, waits);
}

static void ask(struct connection *c, uint64_t since) {
    c->state = HEAD, c->head_length = 0, c->status = 0, c->offset = 0, c->sent = 0, c->digits = -1, c->next_number = 0;
    c->wrong = c->started = false, c->asking = true, c->counted = measuring, c->since = since;
    send_request(c, false);
}

static void carry_on(struct connection *c) {
    if (mode == CLOSED) {
        ask(c, now());
    } else if (mode == RATE && waiting_count > 0) {
        // Scheduled while all connections were busy: latency counts from the scheduled time, if that was
        // within the measurement.
        uint64_t since = waiting[waiting_first];
        waiting_first = (waiting_first + 1) % MOST_WAITING, waiting_count--;
        ask(c, since);
        c->counted = since >= before.time && before.time > 0 && (after.time == 0 || since < after.time);
    } else if (mode == RATE) {
        c->next_idle = idle, idle = c;
    }
}

static void reconnect(struct connection *c) {
    close(c->fd);
    open_connection(c);
    count.reconnects++;
}

static void finish(struct connection *c) {
    c->asking = false;
    bool counted = mode == RATE ? c->counted : measuring;
    if (counted) {
        count.answers++, count.bytes += c->offset;
        if (c->status != 200) count.status++, explain(c, "refused");
        else if (c->wrong || c->offset != expected.length) count.body++, explain(c, "another body");
        note_latency(now() - c->since);
    }
    if (mode == HOLD) count.broken++, explain(c, "a stream ended");
    if (!c->keep_alive) reconnect(c);
    carry_on(c);
}

static void lose(struct connection *c) {
    if (c->asking) count.broken++, explain(c, "the connection broke");
    if (mode == HOLD) {
        close(c->fd);
        c->fd = -1;
        return;
    }
    reconnect(c);
    if (c->asking) carry_on(c);
}

// Parses event stamps, which can be split anywhere: `@`, a 6-digit number, 16 digits of microseconds.
static void read_stamps(struct connection *c, const char *bytes, size_t length, uint64_t time) {
    const char *end = bytes + length;
    while (bytes < end) {
        if (c->digits < 0) {
            if ((bytes = memchr(bytes, '@', (size_t)(end - bytes))) == NULL) return;
            c->digits = 0, c->number = 0, c->stamp = 0, bytes++;
        }
        for (; bytes < end && c->digits < 22; bytes++, c->digits++) {
            uint64_t *value = c->digits < 6 ? &c->number : &c->stamp;
            *value = *value * 10 + (uint64_t)(*bytes - '0');
        }
        if (c->digits < 22) return;
        c->digits = -1;
        if (c->number != c->next_number++ % 1000000) count.body++, explain(c, "an event is missing");
        if (!c->started) c->started = true, opened++;
        if (measuring) count.events++, note_latency(time - c->stamp * 1000);
    }
}

static bool equals(const char *bytes, const char *pattern, size_t length) {
    if (memcmp(bytes, pattern, length) == 0) return true;
    for (size_t i = 0; i < length; i++)
        if (bytes[i] != pattern[i] && pattern[i] != 0) return false;
    return true;
}

static void take_body(struct connection *c, const char *bytes, size_t length, uint64_t time) {
    if (mode == HOLD) read_stamps(c, bytes, length, time);
    else if (c->offset + length > expected.length || !equals(bytes, expected.bytes + c->offset, length)) c->wrong = true;
    c->offset += length;
}

static void read_head(struct connection *c, const char *head, const char *end) {
    c->status = (int)strtol(head + 9, NULL, 10);
    c->keep_alive = true, c->chunked = false, c->left = 0;
    for (const char *line = memchr(head, '\n', (size_t)(end - head)); line && ++line < end; line = memchr(line, '\n', (size_t)(end - line))) {
        switch (*line | 32) {
        case 't':
            if (strncasecmp(line, "transfer-encoding: chunked", 26) == 0) c->chunked = true;
            break;
        case 'c':
            if (strncasecmp(line, "content-length:", 15) == 0) c->left = strtoull(line + 15, NULL, 10);
            else if (strncasecmp(line, "connection: close", 17) == 0) c->keep_alive = false;
        }
    }
    c->state = c->chunked ? CHUNK_SIZE : BODY;
}

// Parses the received bytes. The connection may have sent its next request on return.
static void take(struct connection *c, const char *bytes, size_t length, uint64_t time) {
    const char *end = bytes + length;
    while (bytes < end || (c->state == BODY && c->left == 0)) {
        if (!c->asking) {
            count.broken++, explain(c, "bytes after the answer");
            return;
        }
        size_t here = (size_t)(end - bytes), part;
        const char *found;
        switch (c->state) {
        case HEAD:
            if (c->head_length == 0 && (found = memmem(bytes, here, "\r\n\r\n", 4)) != NULL) {
                read_head(c, bytes, found + 2);
                bytes = found + 4;
                break;
            }
            if (c->head_length == sizeof c->head) fail("a head without end");
            c->head[c->head_length++] = *bytes++;
            if (c->head_length >= 4 && memcmp(c->head + c->head_length - 4, "\r\n\r\n", 4) == 0) {
                read_head(c, c->head, c->head + c->head_length - 2);
                c->head_length = 0;
            }
            break;
        case CHUNK_SIZE:
            if (c->head_length == 64) fail("a chunk's size without end");
            c->head[c->head_length++] = *bytes++;
            if (bytes[-1] == '\n') {
                c->head[c->head_length] = 0, c->head_length = 0;
                c->left = strtoull(c->head, NULL, 16);
                c->state = c->left == 0 ? TRAILER : CHUNK;
            }
            break;
        case BODY:
        case CHUNK:
            part = c->left < here ? c->left : here;
            take_body(c, bytes, part, time);
            bytes += part, c->left -= part;
            if (c->left > 0) break;
            if (c->state == CHUNK) c->state = CHUNK_END;
            else finish(c);
            if (c->state == BODY) return;
            break;
        case CHUNK_END:
            if (*bytes++ == '\n') c->state = CHUNK_SIZE;
            break;
        case TRAILER: // peers send no trailers, so this is the empty line
            if (*bytes++ == '\n') finish(c);
        }
    }
}

static void receive(struct connection *c) {
    static char bytes[1 << 18];
    ssize_t got = recv(c->fd, bytes, sizeof bytes, 0);
    if (got > 0) take(c, bytes, (size_t)got, mode == HOLD ? now() : 0);
    else if (got == 0 || errno != EAGAIN) lose(c);
}

// --- The three modes ---

static void poll_until(uint64_t moment) {
    struct epoll_event events[256];
    uint64_t time = now(), wait = moment > time ? moment - time : 0;
    struct timespec timeout = {.tv_sec = (time_t)(wait / SECOND), .tv_nsec = (long)(wait % SECOND)};
    int ready = epoll_pwait2(poller, events, 256, &timeout, NULL);
    for (int i = 0; i < ready; i++) {
        struct connection *c = events[i].data.ptr;
        char byte;
        if (c == NULL) {
            if (read(0, &byte, 1) <= 0) exit(0);
            continue;
        }
        if (c->fd < 0) continue;
        if (events[i].events & EPOLLOUT) send_request(c, true);
        if (events[i].events & (EPOLLIN | EPOLLHUP | EPOLLERR)) receive(c);
    }
}

static void begin(void) {
    before = take_snapshot(pids, pid_count, core);
    measuring = true;
}

static void end(void) {
    measuring = false;
    after = take_snapshot(pids, pid_count, core);
}

static uint64_t later(double s) { return now() + (uint64_t)(s * 1e9); }

static void run_closed(void) {
    for (unsigned i = 0; i < connection_count; i++) open_connection(&connections[i]), ask(&connections[i], now());
    uint64_t moment = later(warmup);
    while (now() < moment) poll_until(moment);
    begin();
    moment = later(seconds);
    while (now() < moment) poll_until(moment);
    end();
}

static void run_rate(void) {
    waiting = allocate(NULL, MOST_WAITING * sizeof *waiting);
    for (unsigned i = 0; i < connection_count; i++) {
        open_connection(&connections[i]);
        connections[i].next_idle = idle, idle = &connections[i];
    }
    uint64_t start = now(), number = 0, warm = later(warmup), stop = later(warmup + seconds);
    for (uint64_t due = start; due < stop; due = start + (uint64_t)((double)++number / rate * 1e9)) {
        while (now() < due) poll_until(due);
        if (!measuring && due >= warm) begin(), before.time = due;
        struct connection *c = idle;
        if (c != NULL) {
            idle = c->next_idle;
            ask(c, due);
        } else {
            if (waiting_count == MOST_WAITING) fail("the target is too far behind");
            waiting[(waiting_first + waiting_count++) % MOST_WAITING] = due;
        }
    }
    end();
    // Include requests in flight: they may be the slow ones.
    for (uint64_t limit = now() + DRAIN; now() < limit; poll_until(limit)) {
        bool open = waiting_count > 0;
        for (unsigned i = 0; i < connection_count; i++) open |= connections[i].asking;
        if (!open) return;
    }
    count.broken++;
}

static void run_hold(void) {
    uint64_t start = now(), limit = start + 60 * SECOND;
    for (unsigned i = 0; i < connection_count; i++) {
        uint64_t due = start + i * (SECOND / OPENINGS_A_SECOND);
        while (now() < due) poll_until(due);
        open_connection(&connections[i]);
        ask(&connections[i], now());
    }
    while (opened < connection_count && now() < limit && count.broken == 0) poll_until(now() + SECOND / 100);
    if (opened < connection_count) {
        fprintf(stderr, "load: %u of %u streams began; %s\n", opened, connection_count, first_error);
        exit(1);
    }
    puts("opened");
    fflush(stdout);
    uint64_t moment = later(warmup);
    while (now() < moment) poll_until(moment);
    begin();
    moment = later(seconds);
    while (now() < moment) poll_until(moment);
    end();
    for (unsigned i = 0; i < connection_count; i++) close(connections[i].fd);
    puts("left");
}

static void read_options(int argc, char **argv) {
    const char *modes[] = {"closed", "rate", "hold"};
    for (int i = 0; argc > 1 && i < 3; i++) if (strcmp(argv[1], modes[i]) == 0) mode = i;
    for (int i = 2; i + 1 < argc; i += 2) {
        const char *name = argv[i];
        char *value = argv[i + 1];
        if (strcmp(name, "--port") == 0) port = atoi(value);
        else if (strcmp(name, "--request") == 0) read_whole(value, &request.bytes, &request.length);
        else if (strcmp(name, "--expect") == 0) read_whole(value, &expected.bytes, &expected.length);
        else if (strcmp(name, "--connections") == 0) connection_count = (unsigned)atoi(value);
        else if (strcmp(name, "--warmup") == 0) warmup = atof(value);
        else if (strcmp(name, "--seconds") == 0) seconds = atof(value);
        else if (strcmp(name, "--rate") == 0) rate = atof(value);
        else if (strcmp(name, "--core") == 0) core = atoi(value);
        else if (strcmp(name, "--cpu") == 0)
            for (char *pid = strtok(value, ","); pid && pid_count < MOST_PIDS; pid = strtok(NULL, ",")) pids[pid_count++] = atoi(pid);
        else fail(name);
    }
    if (port == 0 || request.length == 0) fail("--port and --request are needed");
}

int main(int argc, char **argv) {
    prctl(PR_SET_TIMERSLACK, 1ul);
    read_options(argc, argv);
    poller = epoll_create1(EPOLL_CLOEXEC);
    epoll_ctl(poller, EPOLL_CTL_ADD, 0, &(struct epoll_event){.events = EPOLLIN, .data.ptr = NULL});
    connections = allocate(NULL, connection_count * sizeof *connections);
    memset(connections, 0, connection_count * sizeof *connections);
    if (mode == CLOSED) run_closed();
    else if (mode == RATE) run_rate();
    else run_hold();
    print_results();
}
