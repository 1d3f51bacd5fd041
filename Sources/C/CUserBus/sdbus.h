/* The libsystemd declarations used here; its headers need not be installed. Names, types and numbers match
   systemd/sd-bus.h (LGPL-2.1-or-later) of systemd 252, as documented in sd-bus(3) and the manual page of each function.
   They are stable in libsystemd.so.0. */
#ifndef USER_BUS_SDBUS_H
#define USER_BUS_SDBUS_H
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

typedef struct sd_bus sd_bus;
typedef struct sd_bus_message sd_bus_message;
typedef struct sd_bus_creds sd_bus_creds;
typedef struct {
    const char *name;
    const char *message;
    int _need_free;
} sd_bus_error;

enum { SD_BUS_CREDS_PID = 1 << 0, SD_BUS_CREDS_EUID = 1 << 4 };
enum { SD_BUS_NAME_REPLACE_EXISTING = 1 << 0 };

int sd_bus_open_user(sd_bus **bus);
int sd_bus_open_system(sd_bus **bus);
void sd_bus_close(sd_bus *bus);
sd_bus *sd_bus_unref(sd_bus *bus);
int sd_bus_is_open(sd_bus *bus);
int sd_bus_set_exit_on_disconnect(sd_bus *bus, int exits);
int sd_bus_get_fd(sd_bus *bus);
int sd_bus_get_events(sd_bus *bus);
int sd_bus_process(sd_bus *bus, sd_bus_message **message);
int sd_bus_request_name(sd_bus *bus, const char *name, uint64_t flags);
int sd_bus_get_name_creds(sd_bus *bus, const char *name, uint64_t mask, sd_bus_creds **creds);
int sd_bus_creds_get_euid(sd_bus_creds *creds, uid_t *user);
int sd_bus_creds_get_pid(sd_bus_creds *creds, pid_t *process);
sd_bus_creds *sd_bus_creds_unref(sd_bus_creds *creds);
int sd_bus_send(sd_bus *bus, sd_bus_message *message, uint64_t *cookie);

sd_bus_message *sd_bus_message_unref(sd_bus_message *message);
int sd_bus_message_sensitive(sd_bus_message *message);
int sd_bus_message_get_type(sd_bus_message *message, uint8_t *type);
const char *sd_bus_message_get_path(sd_bus_message *message);
const char *sd_bus_message_get_interface(sd_bus_message *message);
const char *sd_bus_message_get_member(sd_bus_message *message);
const char *sd_bus_message_get_sender(sd_bus_message *message);
const char *sd_bus_message_get_signature(sd_bus_message *message, int complete);
int sd_bus_message_get_expect_reply(sd_bus_message *message);
int sd_bus_message_get_reply_cookie(sd_bus_message *message, uint64_t *cookie);

int sd_bus_message_new_method_call(sd_bus *bus, sd_bus_message **message, const char *destination, const char *path,
                                   const char *interface, const char *member);
int sd_bus_message_new_method_return(sd_bus_message *call, sd_bus_message **message);
int sd_bus_message_new_method_error(sd_bus_message *call, sd_bus_message **message, const sd_bus_error *error);
int sd_bus_message_new_signal(sd_bus *bus, sd_bus_message **message, const char *path, const char *interface,
                              const char *member);
int sd_bus_message_set_destination(sd_bus_message *message, const char *name);

int sd_bus_message_read_basic(sd_bus_message *message, char type, void *value);
int sd_bus_message_read_array(sd_bus_message *message, char type, const void **bytes, size_t *size);
int sd_bus_message_enter_container(sd_bus_message *message, char type, const char *contents);
int sd_bus_message_exit_container(sd_bus_message *message);
int sd_bus_message_peek_type(sd_bus_message *message, char *type, const char **contents);
int sd_bus_message_skip(sd_bus_message *message, const char *types);

int sd_bus_message_append_basic(sd_bus_message *message, char type, const void *value);
int sd_bus_message_append_array_space(sd_bus_message *message, char type, size_t size, void **space);
int sd_bus_message_open_container(sd_bus_message *message, char type, const char *contents);
int sd_bus_message_close_container(sd_bus_message *message);

int sd_bus_message_seal(sd_bus_message *message, uint64_t cookie, uint64_t timeout);
int sd_bus_message_rewind(sd_bus_message *message, int complete);
#endif
