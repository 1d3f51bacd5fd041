/* Notifies a service manager of the state of this process (sd_notify(3)). */
#define _GNU_SOURCE
#include "vault_shim.h"
#include <errno.h>
#include <stddef.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

int vault_notify(const char *name, const char *state) {
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    const size_t length = strlen(name);
    /* '@' represents the zero byte at the start of an abstract name, which has no zero byte at its end. */
    if ((name[0] != '/' && name[0] != '@') || length < 2) return -EAFNOSUPPORT;
    if (length >= sizeof address.sun_path) return -ENAMETOOLONG;
    memcpy(address.sun_path, name, length);
    if (name[0] == '@') address.sun_path[0] = 0;
    const socklen_t size = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + length + (name[0] == '/'));
    const int manager = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (manager < 0) return -errno;
    ssize_t sent;
    do {
        sent = sendto(manager, state, strlen(state), MSG_NOSIGNAL, (const struct sockaddr *)&address, size);
    } while (sent < 0 && errno == EINTR);
    const int result = sent < 0 ? -errno : 0;
    close(manager);
    return result;
}
