/* Checks that the system's random number generator is available before any other code of this program runs: the Swift runtime needs random bytes when it is
   loaded, and libsodium when it is initialised, and both abort without explanation if there are none. */
#define _GNU_SOURCE
#include "vault_start.h"
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

enum { UNAVAILABLE = 69 };

/* Without getrandom in the kernel, /dev/urandom is read instead. */
static int device_answers(void) {
    struct stat status;
    char byte;
    int fd = open("/dev/urandom", O_RDONLY | O_CLOEXEC);
    if (fd < 0) return 0;
    int answers = fstat(fd, &status) == 0 && S_ISCHR(status.st_mode) && read(fd, &byte, 1) == 1;
    close(fd);
    return answers;
}

static void check_random_source(void) {
    static const char message[] =
        "vaultfmt: the system's random number generator does not respond: allow the system call getrandom, or provide /dev/urandom\n";
    char byte;
    ssize_t count;
    do count = getrandom(&byte, 1, 0);
    while (count < 0 && errno == EINTR);
    if (count == 1 || (count < 0 && errno == ENOSYS && device_answers())) return;
    if (write(STDERR_FILENO, message, strlen(message)) < 0) _exit(UNAVAILABLE);
    _exit(UNAVAILABLE);
}

/* This runs before the constructors of all libraries, including those of the Swift runtime. */
__attribute__((section(".preinit_array"), used)) static void (*const first)(void) = check_random_source;
