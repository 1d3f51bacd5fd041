/* D-Bus, using sd-bus from libsystemd, which is loaded on first use because most machines do not need it. These are
   thin wrappers: each function calls the libsystemd function named in its comment (sd-bus(3)) and returns its result,
   which is a negative error number on failure. Messages are polled; there are no callbacks. */
#ifndef USER_BUS_H
#define USER_BUS_H
#include <stddef.h>
#include <stdint.h>

enum user_bus_loading { USER_BUS_LOADED, USER_BUS_MISSING, USER_BUS_FAILED };

/* Loads libsystemd unless it is already loaded. Call it before any other function. If it is installed but cannot be
   loaded, the reason is stored in `reason`. */
enum user_bus_loading user_bus_load(char *reason, size_t size);

/* A connection. */

/* sd_bus_open_user: the bus at DBUS_SESSION_BUS_ADDRESS, or the bus in the user's runtime folder. */
int user_bus_open(void **bus);
/* sd_bus_open_system: the bus at DBUS_SYSTEM_BUS_ADDRESS, or the default system bus. */
int user_bus_open_system(void **bus);
/* sd_bus_close and sd_bus_unref */
void user_bus_close(void *bus);
/* sd_bus_is_open: returns 1 while the connection is open, otherwise 0. */
int user_bus_is_open(void *bus);
/* sd_bus_get_fd, sd_bus_get_events: the descriptor and the events to wait for. There are no timeouts: no method call of
   libsystemd is left pending, and the caller of user_bus_send_call waits for its own replies. */
int user_bus_descriptor(void *bus);
int user_bus_events(void *bus);
/* sd_bus_process: returns 0 if there is nothing to do, and a positive number if there may be more. `message` is set to a
   message that was received, or to NULL. */
int user_bus_process(void *bus, void **message);
/* sd_bus_request_name, without queueing for the name. Returns -EEXIST if another connection owns it. A child that exits
   does not interrupt the call. */
int user_bus_request_name(void *bus, const char *name, int replaces);
/* sd_bus_get_name_creds: the user and the process that own a name, as reported by the bus. A child that exits does not
   interrupt the call. */
int user_bus_credentials(void *bus, const char *name, uint32_t *user, int32_t *process);
/* sd_bus_send, without waiting for a reply. */
int user_bus_send(void *bus, void *message);
/* sd_bus_send for a call, without waiting for its reply, which user_bus_process returns later. `number` is set to the
   call's number. */
int user_bus_send_call(void *bus, void *message, uint64_t *number);

/* Messages. */

enum user_bus_type { USER_BUS_CALL = 1, USER_BUS_RETURN = 2, USER_BUS_ERROR = 3, USER_BUS_SIGNAL = 4 };

/* sd_bus_message_unref */
void user_bus_message_free(void *message);
/* sd_bus_message_sensitive: the memory of the message, and of any reply to it, is erased when it is freed. */
int user_bus_message_sensitive(void *message);
/* sd_bus_message_get_type, _get_path, _get_interface, _get_member, _get_sender, _get_signature (of the whole message),
   _get_expect_reply. A string is valid as long as the message, and NULL if the message does not have this field. */
enum user_bus_type user_bus_message_type(void *message);
const char *user_bus_message_path(void *message);
const char *user_bus_message_interface(void *message);
const char *user_bus_message_member(void *message);
const char *user_bus_message_sender(void *message);
const char *user_bus_message_signature(void *message);
int user_bus_message_expects_reply(void *message);
/* sd_bus_message_get_reply_cookie: the number of the call that a message replies to. Fails for other messages. */
int user_bus_message_call(void *message, uint64_t *number);

/* sd_bus_message_new_method_call, _new_method_return, _new_method_error, _new_signal, _set_destination */
int user_bus_new_call(void *bus, void **message, const char *destination, const char *path, const char *interface,
                        const char *member);
int user_bus_new_return(void *call, void **message);
int user_bus_new_error(void *call, void **message, const char *name, const char *text);
int user_bus_new_signal(void *bus, void **message, const char *path, const char *interface, const char *member);
int user_bus_set_destination(void *message, const char *name);

/* Reading: sd_bus_message_read_basic, _read_array, _enter_container, _exit_container, _peek_type, _skip. Values are
   valid as long as the message; the contents of a type are valid until the next call. */
int user_bus_read(void *message, char type, void *value);
int user_bus_read_bytes(void *message, const void **bytes, size_t *size);
/* sd_bus_message_read_basic for a descriptor: returns a copy of the descriptor, which the caller closes. */
int user_bus_read_descriptor(void *message);
int user_bus_enter(void *message, char type, const char *contents);
int user_bus_exit(void *message);
int user_bus_peek(void *message, char *type, const char **contents);
int user_bus_skip(void *message, const char *types);

/* Writing: sd_bus_message_append_basic, _append_array_space, _open_container, _close_container. The bytes in the space of
   an array are undefined until they are filled in, after everything has been appended: appending may move the message
   and leave a copy of the bytes behind. */
int user_bus_append(void *message, char type, const void *value);
int user_bus_append_space(void *message, size_t size);
int user_bus_open_container(void *message, char type, const char *contents);
int user_bus_close_container(void *message);

/* Filling: sd_bus_message_seal and _rewind for a complete reply. Its values are then traversed as in reading, and the
   content of each byte array is set. Fails with -EMSGSIZE if the array has a different size. */
int user_bus_seal_reply(void *message);
int user_bus_fill_bytes(void *message, const void *bytes, size_t size);
#endif
