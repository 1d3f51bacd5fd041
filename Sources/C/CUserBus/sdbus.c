#include "user_bus.h"
#include "sdbus.h"
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

/* The functions used; the table below and its loading are generated from this list. */
#define FUNCTIONS(use)                     \
    use(sd_bus_open_user)                  \
    use(sd_bus_open_system)                \
    use(sd_bus_close)                      \
    use(sd_bus_unref)                      \
    use(sd_bus_is_open)                    \
    use(sd_bus_set_exit_on_disconnect)     \
    use(sd_bus_get_fd)                     \
    use(sd_bus_get_events)                 \
    use(sd_bus_process)                    \
    use(sd_bus_request_name)               \
    use(sd_bus_get_name_creds)             \
    use(sd_bus_creds_get_euid)             \
    use(sd_bus_creds_get_pid)              \
    use(sd_bus_creds_unref)                \
    use(sd_bus_send)                       \
    use(sd_bus_message_unref)              \
    use(sd_bus_message_sensitive)          \
    use(sd_bus_message_get_type)           \
    use(sd_bus_message_get_path)           \
    use(sd_bus_message_get_interface)      \
    use(sd_bus_message_get_member)         \
    use(sd_bus_message_get_sender)         \
    use(sd_bus_message_get_signature)      \
    use(sd_bus_message_get_expect_reply)   \
    use(sd_bus_message_get_reply_cookie)   \
    use(sd_bus_message_new_method_call)    \
    use(sd_bus_message_new_method_return)  \
    use(sd_bus_message_new_method_error)   \
    use(sd_bus_message_new_signal)         \
    use(sd_bus_message_set_destination)    \
    use(sd_bus_message_read_basic)         \
    use(sd_bus_message_read_array)         \
    use(sd_bus_message_enter_container)    \
    use(sd_bus_message_exit_container)     \
    use(sd_bus_message_peek_type)          \
    use(sd_bus_message_skip)               \
    use(sd_bus_message_append_basic)       \
    use(sd_bus_message_append_array_space) \
    use(sd_bus_message_open_container)     \
    use(sd_bus_message_close_container)    \
    use(sd_bus_message_seal)               \
    use(sd_bus_message_rewind)

#define MEMBER(function) __typeof__(function) *function;
static struct { FUNCTIONS(MEMBER) } bus;

static enum user_bus_loading load(char *reason, size_t size) {
    dlerror();
    void *library = dlopen("libsystemd.so.0", RTLD_NOW | RTLD_LOCAL);
    if (library == NULL) {
        const char *words = dlerror();
        /* The dynamic loader has no error codes, but its message ends with the system's error text. */
        if (words == NULL || strstr(words, strerror(ENOENT)) != NULL) return USER_BUS_MISSING;
        snprintf(reason, size, "%s", words);
        return USER_BUS_FAILED;
    }
#define FIND(function)                                                       \
    bus.function = (__typeof__(bus.function))dlsym(library, #function);      \
    if (bus.function == NULL) {                                              \
        snprintf(reason, size, "libsystemd.so.0 is too old: no " #function); \
        dlclose(library);                                                    \
        return USER_BUS_FAILED;                                            \
    }
    FUNCTIONS(FIND)
    return USER_BUS_LOADED;
}

enum user_bus_loading user_bus_load(char *reason, size_t size) {
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    static int is_loaded;
    if (size > 0) reason[0] = 0;
    pthread_mutex_lock(&lock);
    enum user_bus_loading result = is_loaded ? USER_BUS_LOADED : load(reason, size);
    is_loaded = result == USER_BUS_LOADED;
    pthread_mutex_unlock(&lock);
    return result;
}

/* A connection. */

static int opened_by(int (*open)(sd_bus **), void **opened) {
    sd_bus *connection = NULL;
    int result = open(&connection);
    *opened = connection;
    if (result < 0) return result;
    /* The agent continues to run without the bus. */
    return bus.sd_bus_set_exit_on_disconnect(connection, 0);
}

int user_bus_open(void **opened) { return opened_by(bus.sd_bus_open_user, opened); }
int user_bus_open_system(void **opened) { return opened_by(bus.sd_bus_open_system, opened); }

void user_bus_close(void *connection) {
    /* Do not flush: that would block if the bus does not read. */
    bus.sd_bus_close(connection);
    bus.sd_bus_unref(connection);
}

int user_bus_is_open(void *connection) { return bus.sd_bus_is_open(connection) > 0; }
int user_bus_descriptor(void *connection) { return bus.sd_bus_get_fd(connection); }
int user_bus_events(void *connection) { return bus.sd_bus_get_events(connection); }

int user_bus_process(void *connection, void **message) {
    sd_bus_message *received = NULL;
    int result = bus.sd_bus_process(connection, &received);
    *message = received;
    return result;
}

/* Some versions of libsystemd abandon a call that is waiting for its reply when a signal arrives. The signal that
   reports the end of a child, such as a program that asks a person, is held back meanwhile; signals that end this
   process are not. */
static sigset_t hold_child_signal(void) {
    sigset_t child, before;
    sigemptyset(&child);
    sigaddset(&child, SIGCHLD);
    pthread_sigmask(SIG_BLOCK, &child, &before);
    return before;
}

static void restore_signals(sigset_t before) { pthread_sigmask(SIG_SETMASK, &before, NULL); }

int user_bus_request_name(void *connection, const char *name, int replaces) {
    const sigset_t before = hold_child_signal();
    int result = bus.sd_bus_request_name(connection, name, replaces ? SD_BUS_NAME_REPLACE_EXISTING : 0);
    restore_signals(before);
    return result < 0 ? result : 0;
}

int user_bus_credentials(void *connection, const char *name, uint32_t *user, int32_t *process) {
    sd_bus_creds *creds = NULL;
    const sigset_t before = hold_child_signal();
    int result = bus.sd_bus_get_name_creds(connection, name, SD_BUS_CREDS_EUID | SD_BUS_CREDS_PID, &creds);
    restore_signals(before);
    if (result < 0) return result;
    uid_t found_user = 0;
    pid_t found_process = 0;
    result = bus.sd_bus_creds_get_euid(creds, &found_user);
    if (result >= 0) result = bus.sd_bus_creds_get_pid(creds, &found_process);
    bus.sd_bus_creds_unref(creds);
    *user = found_user;
    *process = found_process;
    return result;
}

int user_bus_send(void *connection, void *message) { return bus.sd_bus_send(connection, message, NULL); }

int user_bus_send_call(void *connection, void *message, uint64_t *number) {
    return bus.sd_bus_send(connection, message, number);
}

/* Messages. */

void user_bus_message_free(void *message) { bus.sd_bus_message_unref(message); }
int user_bus_message_sensitive(void *message) { return bus.sd_bus_message_sensitive(message); }

enum user_bus_type user_bus_message_type(void *message) {
    uint8_t type = 0;
    return bus.sd_bus_message_get_type(message, &type) < 0 ? (enum user_bus_type)0 : (enum user_bus_type)type;
}

const char *user_bus_message_path(void *message) { return bus.sd_bus_message_get_path(message); }
const char *user_bus_message_interface(void *message) { return bus.sd_bus_message_get_interface(message); }
const char *user_bus_message_member(void *message) { return bus.sd_bus_message_get_member(message); }
const char *user_bus_message_sender(void *message) { return bus.sd_bus_message_get_sender(message); }
const char *user_bus_message_signature(void *message) { return bus.sd_bus_message_get_signature(message, 1); }
int user_bus_message_expects_reply(void *message) { return bus.sd_bus_message_get_expect_reply(message); }

int user_bus_message_call(void *message, uint64_t *number) {
    return bus.sd_bus_message_get_reply_cookie(message, number);
}

int user_bus_new_call(void *connection, void **message, const char *destination, const char *path,
                        const char *interface, const char *member) {
    sd_bus_message *made = NULL;
    int result = bus.sd_bus_message_new_method_call(connection, &made, destination, path, interface, member);
    *message = made;
    return result;
}

int user_bus_new_return(void *call, void **message) {
    sd_bus_message *made = NULL;
    int result = bus.sd_bus_message_new_method_return(call, &made);
    *message = made;
    return result;
}

int user_bus_new_error(void *call, void **message, const char *name, const char *text) {
    const sd_bus_error error = {.name = name, .message = text, ._need_free = 0};
    sd_bus_message *made = NULL;
    int result = bus.sd_bus_message_new_method_error(call, &made, &error);
    *message = made;
    return result;
}

int user_bus_new_signal(void *connection, void **message, const char *path, const char *interface,
                          const char *member) {
    sd_bus_message *made = NULL;
    int result = bus.sd_bus_message_new_signal(connection, &made, path, interface, member);
    *message = made;
    return result;
}

int user_bus_set_destination(void *message, const char *name) {
    return bus.sd_bus_message_set_destination(message, name);
}

int user_bus_read(void *message, char type, void *value) {
    return bus.sd_bus_message_read_basic(message, type, value);
}

int user_bus_read_bytes(void *message, const void **bytes, size_t *size) {
    return bus.sd_bus_message_read_array(message, 'y', bytes, size);
}

int user_bus_read_descriptor(void *message) {
    int descriptor = -1;
    int result = bus.sd_bus_message_read_basic(message, 'h', &descriptor);
    if (result <= 0) return result < 0 ? result : -ENXIO;
    int copy = fcntl(descriptor, F_DUPFD_CLOEXEC, 3);
    return copy < 0 ? -errno : copy;
}

int user_bus_enter(void *message, char type, const char *contents) {
    return bus.sd_bus_message_enter_container(message, type, contents);
}

int user_bus_exit(void *message) { return bus.sd_bus_message_exit_container(message); }

int user_bus_peek(void *message, char *type, const char **contents) {
    return bus.sd_bus_message_peek_type(message, type, contents);
}

int user_bus_skip(void *message, const char *types) { return bus.sd_bus_message_skip(message, types); }

int user_bus_append(void *message, char type, const void *value) {
    return bus.sd_bus_message_append_basic(message, type, value);
}

int user_bus_append_space(void *message, size_t size) {
    void *space;
    return bus.sd_bus_message_append_array_space(message, 'y', size, &space);
}

int user_bus_open_container(void *message, char type, const char *contents) {
    return bus.sd_bus_message_open_container(message, type, contents);
}

int user_bus_close_container(void *message) { return bus.sd_bus_message_close_container(message); }

int user_bus_seal_reply(void *message) {
    /* A reply is never replied to, so its number need not be unique; 0 is not allowed. */
    int result = bus.sd_bus_message_seal(message, 1, 0);
    return result < 0 ? result : bus.sd_bus_message_rewind(message, 1);
}

int user_bus_fill_bytes(void *message, const void *bytes, size_t size) {
    const void *space = NULL;
    size_t room = 0;
    int result = bus.sd_bus_message_read_array(message, 'y', &space, &room);
    if (result < 0) return result;
    if (room != size) return -EMSGSIZE;
    /* The space is in memory that libsystemd has allocated for this message, and that it only reads from now on. */
    if (size > 0) memcpy((void *)space, bytes, size);
    return 0;
}
