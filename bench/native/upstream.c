// Replaces the engine in the benchmark: an HTTP/1.1 server on a free loopback port that sends the same
// prepared response to every request. As engines do, it names the model of the request in the response; a
// request without a model is a health check. One thread, one epoll. It prints its port, then reads one
// command per line from stdin:
//
//   whole FILE               answer with the file as application/json; its "model":"engine" becomes the model of the request
//   stream CHUNKS MICROS     answer with a stream of CHUNKS server-sent events and [DONE]; with MICROS 0 in one write,
//                            else one event every MICROS, each with its number and its send time
//   counted CHUNKS           the stream of CHUNKS events in one write, each with the usage so far if the request asks for that
//   events FILE              answer with the file as a stream in one write; each "model":"engine" becomes the model of the request
//   drop                     abort every response in flight
//   stats
//
// It replies to each command with its counters as one line of JSON. It exits when stdin closes. Build: gcc
// -O2 -o upstream upstream.c
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
#include <time.h>
#include <unistd.h>

#define SECOND 1000000000ull
#define LARGEST_REQUEST (64u << 20)
#define LONGEST_NAME 255
#define MOST_MODELS 64

struct bytes {
    char *bytes;
    size_t length;
};

// The prepared responses for one model.
struct model {
    char name[LONGEST_NAME + 1];
    struct bytes plain, with_usage, with_counts; // empty: not prepared
};

struct connection {
    int fd;
    char *in; // received bytes of the request
    size_t in_length, in_capacity;
    const char *out; // bytes to write; never freed
    size_t out_length;
    char *rest; // unwritten rest of a paced event; `out` points to it
    bool answering, wants_usage, wants_counts;
    char model[LONGEST_NAME + 1]; // of a paced request
    uint32_t sent; // sent events of the paced stream
    uint64_t due;  // time of the next event
    struct connection *previous, *next;
};

static struct model models[MOST_MODELS];
static unsigned model_count;
static struct bytes document; // empty: answers are composed streams
static bool is_events;        // the document is a stream
static uint64_t interval;     // 0: not paced
static uint32_t chunks;
static bool counted; // answers may have the usage in each event
static struct { uint64_t requests, answered, aborted, live, events, refused; } count;
static struct connection *first_due, *last_due; // all streams share one interval, so a queue is sorted
static int poller;

static const char stream_head[] = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n";
static const char no_model[] = "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 2\r\n\r\n{}";
static const char event_head[] =
    "data: {\"id\":\"chatcmpl-bench\",\"object\":\"chat.completion.chunk\",\"created\":1790000000,\"model\":\"";
static const char usage_event[] = "\"choices\":[],\"usage\":{\"prompt_tokens\":200,\"completion_tokens\":200,\"total_tokens\":400}}\n\n";

static uint64_t now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (uint64_t)time.tv_sec * SECOND + (uint64_t)time.tv_nsec;
}

static void fail(const char *what) {
    fprintf(stderr, "upstream: %s: %s\n", what, strerror(errno));
    exit(1);
}

static void *allocate(void *old, size_t size) {
    void *memory = realloc(old, size);
    if (memory == NULL) fail("out of memory");
    return memory;
}

// Writes one event as a chunk of a chunked body.
static size_t frame(char *to, const char *event, size_t length) {
    size_t size = (size_t)sprintf(to, "%zx\r\n", length);
    memcpy(to + size, event, length);
    memcpy(to + size + length, "\r\n", 2);
    return size + length + 2;
}

static size_t frame_last(char *to, const char *model, bool usage) {
    char event[512 + LONGEST_NAME];
    size_t size = 0;
    int length = sprintf(event, "%s%s\",\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}]}\n\n", event_head, model);
    size += frame(to + size, event, (size_t)length);
    if (usage) size += frame(to + size, event, (size_t)sprintf(event, "%s%s\",%s", event_head, model, usage_event));
    size += frame(to + size, "data: [DONE]\n\n", 14);
    memcpy(to + size, "0\r\n\r\n", 5);
    return size + 5;
}

// An event of a paced stream: `@`, its number in 6 digits, the microseconds of the monotonic clock in 16.
static size_t frame_paced(char *to, const char *model, uint32_t number) {
    char event[512 + LONGEST_NAME];
    int length = sprintf(event, "%s%s\",\"choices\":[{\"index\":0,\"delta\":{\"content\":\"@%06u%016llu\"},\"finish_reason\":null}]}\n\n",
                         event_head, model, number % 1000000, (unsigned long long)(now() / 1000));
    return frame(to, event, (size_t)length);
}

// Composes the document with the name of the model.
static struct bytes compose_whole(const char *model) {
    static const char sought[] = "\"model\":\"engine\"";
    struct bytes answer = {allocate(NULL, document.length + LONGEST_NAME + 256), 0};
    const char *at = memmem(document.bytes, document.length, sought, sizeof sought - 1);
    if (at == NULL) fail("a document without a model");
    size_t before = (size_t)(at - document.bytes), after = document.length - before - (sizeof sought - 1);
    char member[LONGEST_NAME + 16];
    size_t size = (size_t)sprintf(member, "\"model\":\"%s\"", model);
    answer.length = (size_t)sprintf(answer.bytes, "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: %zu\r\n\r\n", before + size + after);
    memcpy(answer.bytes + answer.length, document.bytes, before);
    memcpy(answer.bytes + answer.length + before, member, size);
    memcpy(answer.bytes + answer.length + before + size, at + sizeof sought - 1, after);
    answer.length += before + size + after;
    return answer;
}

// Composes the events of the document, each a chunk, with the name of the model in each place.
static struct bytes compose_events(const char *model) {
    static const char sought[] = "\"model\":\"engine\"";
    struct bytes answer = {allocate(NULL, sizeof stream_head + document.length * 2 + 64 * LONGEST_NAME), 0};
    char *event = allocate(NULL, document.length + 64 * LONGEST_NAME);
    answer.length = (size_t)sprintf(answer.bytes, "%s", stream_head);
    const char *from = document.bytes, *end = document.bytes + document.length, *next;
    for (; from < end; from = next) {
        const char *stop = memmem(from, (size_t)(end - from), "\n\n", 2);
        if (stop == NULL) fail("an event without end");
        next = stop + 2;
        size_t length = 0;
        for (const char *at; (at = memmem(from, (size_t)(next - from), sought, sizeof sought - 1)) != NULL; from = at + sizeof sought - 1) {
            memcpy(event + length, from, (size_t)(at - from));
            length += (size_t)(at - from);
            length += (size_t)sprintf(event + length, "\"model\":\"%s\"", model);
        }
        memcpy(event + length, from, (size_t)(next - from));
        answer.length += frame(answer.bytes + answer.length, event, length + (size_t)(next - from));
    }
    free(event);
    memcpy(answer.bytes + answer.length, "0\r\n\r\n", 5);
    answer.length += 5;
    return answer;
}

static struct bytes compose_stream(const char *model, bool usage, bool counts) {
    struct bytes answer = {allocate(NULL, sizeof stream_head + (chunks + 4) * (512ull + LONGEST_NAME)), 0};
    char event[512 + LONGEST_NAME];
    answer.length = (size_t)sprintf(answer.bytes, "%s", stream_head);
    for (uint32_t i = 0; i < chunks; i++) {
        int length = sprintf(event, "%s%s\",\"choices\":[{\"index\":0,\"delta\":{\"content\":\" token %03u\"},\"finish_reason\":null}]", event_head, model, i % 1000);
        if (counts) length += sprintf(event + length, ",\"usage\":{\"prompt_tokens\":200,\"total_tokens\":%u,\"completion_tokens\":%u}", 201 + i, 1 + i);
        length += sprintf(event + length, "}\n\n");
        answer.length += frame(answer.bytes + answer.length, event, (size_t)length);
    }
    answer.length += frame_last(answer.bytes + answer.length, model, usage);
    return answer;
}

// Finds the name of the model in a request, and prepares its responses at the first one. Returns NULL without
// a name.
static const struct model *find_model(const char *body, size_t length) {
    const char *at = memmem(body, length, "\"model\":", 8), *end = body + length;
    if (at == NULL) return NULL;
    at += 8;
    while (at < end && *at == ' ') at++;
    if (at == end || *at++ != '"') return NULL;
    const char *stop = memchr(at, '"', (size_t)(end - at));
    if (stop == NULL || stop - at > LONGEST_NAME) return NULL;
    size_t size = (size_t)(stop - at);
    for (unsigned i = 0; i < model_count; i++)
        if (strlen(models[i].name) == size && memcmp(models[i].name, at, size) == 0) return &models[i];
    if (model_count == MOST_MODELS) return NULL;
    struct model *model = &models[model_count++];
    *model = (struct model){0};
    memcpy(model->name, at, size);
    if (document.bytes != NULL) model->plain = is_events ? compose_events(model->name) : compose_whole(model->name);
    else if (interval == 0) {
        model->plain = compose_stream(model->name, false, false), model->with_usage = compose_stream(model->name, true, false);
        if (counted) model->with_counts = compose_stream(model->name, true, true);
    }
    return model;
}

// Earlier responses stay in memory, because connections may still write them.
static void prepare_document(const char *path, bool events) {
    FILE *file = fopen(path, "rb");
    if (file == NULL) fail(path);
    fseek(file, 0, SEEK_END);
    document.length = (size_t)ftell(file);
    rewind(file);
    document.bytes = allocate(NULL, document.length + 1);
    if (fread(document.bytes, 1, document.length, file) != document.length) fail(path);
    fclose(file);
    is_events = events;
    model_count = 0;
    interval = 0;
}

static void prepare_stream(uint32_t events, uint64_t micros, bool counts) {
    document = (struct bytes){0};
    chunks = events;
    interval = micros * 1000;
    counted = counts;
    model_count = 0;
}

static void leave_queue(struct connection *c) {
    if (c->previous) c->previous->next = c->next;
    else if (first_due == c) first_due = c->next;
    if (c->next) c->next->previous = c->previous;
    else if (last_due == c) last_due = c->previous;
    c->previous = c->next = NULL;
}

static void join_queue(struct connection *c) {
    c->previous = last_due;
    if (last_due) last_due->next = c;
    else first_due = c;
    last_due = c;
}

static void hang_up(struct connection *c) {
    if (c->answering) count.aborted++, count.live--;
    leave_queue(c);
    close(c->fd);
    free(c->in);
    free(c->rest);
    free(c);
}

static void watch(struct connection *c, bool writable) {
    struct epoll_event event = {.events = EPOLLIN | EPOLLRDHUP | (writable ? EPOLLOUT : 0), .data.ptr = c};
    epoll_ctl(poller, EPOLL_CTL_MOD, c->fd, &event);
}

static void end_answer(struct connection *c) {
    leave_queue(c);
    c->answering = false;
    count.answered++, count.live--;
}

// Writes the rest of `out`. Returns false when the connection is closed.
static bool flush(struct connection *c, bool was_waiting) {
    ssize_t written = send(c->fd, c->out, c->out_length, MSG_NOSIGNAL);
    if (written < 0 && errno != EAGAIN) return false;
    if (written > 0) c->out += written, c->out_length -= (size_t)written;
    if ((c->out_length > 0) != was_waiting) watch(c, c->out_length > 0);
    return true;
}

static bool send_event(struct connection *c) {
    char bytes[4096];
    size_t size = 0;
    if (c->sent == 0) size = (size_t)sprintf(bytes, "%s", stream_head);
    bool last = c->sent == chunks;
    const char *model = c->model;
    size += last ? frame_last(bytes + size, model, c->wants_usage) : frame_paced(bytes + size, model, c->sent);
    c->out = bytes, c->out_length = size;
    if (!flush(c, false)) return false;
    if (c->out_length > 0) {
        c->rest = allocate(c->rest, sizeof bytes);
        memcpy(c->rest, c->out, c->out_length);
        c->out = c->rest;
    }
    c->sent++, count.events++;
    if (last) end_answer(c);
    return true;
}

static bool answer(struct connection *c, const char *body, size_t length) {
    const struct model *model = find_model(body, length);
    count.requests++, count.live++;
    c->answering = true;
    c->wants_usage = memmem(body, length, "\"include_usage\":true", 20) != NULL;
    c->wants_counts = memmem(body, length, "\"continuous_usage_stats\":true", 29) != NULL;
    if (model == NULL) {
        // A health check of a gateway.
        c->out = no_model, c->out_length = sizeof no_model - 1;
        if (!flush(c, false)) return false;
        if (c->out_length == 0) end_answer(c);
        return true;
    }
    if (interval > 0) {
        c->sent = 0, c->due = now() + interval;
        memcpy(c->model, model->name, sizeof c->model);
        join_queue(c);
        return send_event(c);
    }
    bool usage = c->wants_usage && model->with_usage.bytes != NULL;
    const struct bytes *response = usage ? &model->with_usage : &model->plain;
    if (usage && c->wants_counts && model->with_counts.bytes != NULL) response = &model->with_counts;
    c->out = response->bytes, c->out_length = response->length;
    if (!flush(c, false)) return false;
    if (c->out_length == 0) end_answer(c);
    return true;
}

// Returns the Content-Length, or -1 for an unsupported body.
static long body_length(const char *head, const char *end) {
    long length = 0;
    for (const char *line = head; line < end;) {
        const char *stop = memchr(line, '\n', (size_t)(end - line));
        if (strncasecmp(line, "content-length:", 15) == 0) length = strtol(line + 15, NULL, 10);
        if (strncasecmp(line, "transfer-encoding:", 18) == 0) return -1;
        if (stop == NULL) break;
        line = stop + 1;
    }
    return length >= 0 && length < LARGEST_REQUEST ? length : -1;
}

// Reads and responds. Returns false when the connection must be closed.
static bool receive(struct connection *c) {
    if (c->in_capacity - c->in_length < 16384) c->in = allocate(c->in, (c->in_capacity = c->in_capacity * 2 + 32768) + 1);
    ssize_t got = recv(c->fd, c->in + c->in_length, c->in_capacity - c->in_length, 0);
    if (got < 0) return errno == EAGAIN;
    if (got == 0) return false;
    c->in_length += (size_t)got;
    c->in[c->in_length] = 0;
    char *end = memmem(c->in, c->in_length, "\r\n\r\n", 4);
    if (end == NULL) return c->in_length < 65536;
    size_t head = (size_t)(end - c->in) + 4;
    long body = body_length(c->in, end);
    if (body < 0) return count.refused++, false;
    if (c->in_length < head + (size_t)body) return true;
    // Peers do not pipeline. Refuse pipelined requests instead of answering them incorrectly.
    if (c->answering || c->in_length > head + (size_t)body) return count.refused++, false;
    c->in_length = 0;
    return answer(c, c->in + head, (size_t)body);
}

// Only paced streams last long, and all of them are in the queue. Their ends arrive as separate events.
static void drop_answers(void) {
    for (struct connection *c = first_due; c; c = c->next) shutdown(c->fd, SHUT_RDWR);
}

static void take_command(const char *line) {
    char path[4096];
    unsigned events;
    unsigned long long micros;
    if (sscanf(line, "whole %4095[^\n]", path) == 1) prepare_document(path, false);
    else if (sscanf(line, "events %4095[^\n]", path) == 1) prepare_document(path, true);
    else if (sscanf(line, "stream %u %llu", &events, &micros) == 2) prepare_stream(events, micros, false);
    else if (sscanf(line, "counted %u", &events) == 1) prepare_stream(events, 0, true);
    else if (strncmp(line, "drop", 4) == 0) drop_answers();
    else if (strncmp(line, "stats", 5) != 0) fail(line);
    printf("{\"requests\":%llu,\"answered\":%llu,\"aborted\":%llu,\"live\":%llu,\"events\":%llu,\"refused\":%llu}\n",
           (unsigned long long)count.requests, (unsigned long long)count.answered, (unsigned long long)count.aborted,
           (unsigned long long)count.live, (unsigned long long)count.events, (unsigned long long)count.refused);
    fflush(stdout);
}

static void read_commands(void) {
    static char text[8192];
    static size_t length;
    ssize_t got = read(0, text + length, sizeof text - 1 - length);
    if (got <= 0) exit(0);
    text[length += (size_t)got] = 0;
    char *line = text, *end;
    for (; (end = strchr(line, '\n')) != NULL; line = end + 1) take_command(line);
    length = strlen(line);
    memmove(text, line, length + 1);
}

static void accept_all(int listener) {
    int fd, yes = 1;
    while ((fd = accept4(listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC)) >= 0) {
        setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
        struct connection *c = allocate(NULL, sizeof *c);
        *c = (struct connection){.fd = fd};
        struct epoll_event event = {.events = EPOLLIN | EPOLLRDHUP, .data.ptr = c};
        epoll_ctl(poller, EPOLL_CTL_ADD, fd, &event);
    }
}

static void send_due(void) {
    while (first_due && first_due->due <= now()) {
        struct connection *c = first_due;
        leave_queue(c);
        c->due += interval;
        join_queue(c);
        // A slow reader gets no new event until it has read the pending one.
        if (c->out_length == 0 && !send_event(c)) hang_up(c);
    }
}

int main(void) {
    prctl(PR_SET_TIMERSLACK, 1ul);
    int listener = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof address;
    if (bind(listener, (struct sockaddr *)&address, size) || listen(listener, 4096)) fail("listening");
    getsockname(listener, (struct sockaddr *)&address, &size);
    poller = epoll_create1(EPOLL_CLOEXEC);
    static int commands; // only its address matters: it marks stdin's events
    epoll_ctl(poller, EPOLL_CTL_ADD, listener, &(struct epoll_event){.events = EPOLLIN, .data.ptr = NULL});
    epoll_ctl(poller, EPOLL_CTL_ADD, 0, &(struct epoll_event){.events = EPOLLIN, .data.ptr = &commands});
    printf("%d\n", ntohs(address.sin_port));
    fflush(stdout);
    for (;;) {
        struct epoll_event events[256];
        uint64_t wait = 3600 * SECOND, time = now();
        if (first_due) wait = first_due->due > time ? first_due->due - time : 0;
        struct timespec timeout = {.tv_sec = (time_t)(wait / SECOND), .tv_nsec = (long)(wait % SECOND)};
        int ready = epoll_pwait2(poller, events, 256, &timeout, NULL);
        for (int i = 0; i < ready; i++) {
            struct connection *c = events[i].data.ptr;
            if (c == NULL) accept_all(listener);
            else if ((void *)c == &commands) read_commands();
            else {
                bool alive = !(events[i].events & (EPOLLERR | EPOLLHUP));
                if (alive && (events[i].events & EPOLLOUT) && c->out_length > 0) {
                    alive = flush(c, true);
                    if (alive && c->out_length == 0 && c->answering && interval == 0) end_answer(c);
                }
                if (alive && (events[i].events & (EPOLLIN | EPOLLRDHUP))) alive = receive(c);
                if (!alive) hang_up(c);
            }
        }
        send_due();
    }
}
