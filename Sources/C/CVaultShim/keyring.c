/* The kernel's key retention service (keyrings(7)), called directly: three system calls do not justify another library, libkeyutils. */
#define _GNU_SOURCE
#include "vault_shim.h"
#include <errno.h>
#include <linux/keyctl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

/* All arguments are always passed, because the kernel reads five registers. */
static long keyctl(int operation, long a, long b, long c, long d) {
    long result = syscall(SYS_keyctl, (long)operation, a, b, c, d);
    return result >= 0 ? result : -errno;
}

/* Reading a key requires possessing it, and a new session (started by pam_keyinit, systemd or keyctl) does not possess the user keyring, although
   that keyring belongs to the user. A link from this thread's keyring gives possession; the link ends with the thread,
   and programs started from here do not inherit it. */
static long possess_user_keyring(void) { return keyctl(KEYCTL_LINK, KEY_SPEC_USER_KEYRING, KEY_SPEC_THREAD_KEYRING, 0, 0); }

static long find(const char *description) {
    long result = possess_user_keyring();
    if (result < 0) return result;
    return keyctl(KEYCTL_SEARCH, KEY_SPEC_USER_KEYRING, (long)"user", (long)description, 0);
}

/* If access to a found key is denied, another process has removed its link in the meantime; without the link, no
 * process possesses the key. */
static long gone(long result) { return result == -EACCES ? -ENOKEY : result; }

/* Revoking a key wipes its payload at once, even if other processes have found the key; the link is removed too. */
static long drop(long key) {
    long result = gone(keyctl(KEYCTL_REVOKE, key, 0, 0, 0));
    keyctl(KEYCTL_UNLINK, key, KEY_SPEC_USER_KEYRING, 0, 0);
    return result;
}

int64_t vault_key_keep(const char *description, const void *payload, size_t size, uint32_t seconds) {
    long result = possess_user_keyring();
    if (result < 0) return result;
    /* The key becomes visible to other processes only after its timeout has
     * been set. */
    long key = syscall(SYS_add_key, "user", description, payload, size, (long)KEY_SPEC_THREAD_KEYRING);
    if (key < 0) return -errno;
    result = keyctl(KEYCTL_SET_TIMEOUT, key, (long)seconds, 0, 0);
    if (result >= 0) {
        long old = keyctl(KEYCTL_SEARCH, KEY_SPEC_USER_KEYRING, (long)"user", (long)description, 0);
        if (old >= 0 && old != key) drop(old);
        result = keyctl(KEYCTL_LINK, key, KEY_SPEC_USER_KEYRING, 0, 0);
    }
    if (result < 0) keyctl(KEYCTL_REVOKE, key, 0, 0, 0);
    keyctl(KEYCTL_UNLINK, key, KEY_SPEC_THREAD_KEYRING, 0, 0);
    return result < 0 ? result : 0;
}

int64_t vault_key_find(const char *description, void *payload, size_t size) {
    long key = find(description);
    return key < 0 ? key : gone(keyctl(KEYCTL_READ, key, (long)payload, (long)size, 0));
}

int64_t vault_key_drop(const char *description) {
    long key = find(description);
    return key < 0 ? key : drop(key);
}

static int has_prefix(int32_t key, const char *prefix) {
    char text[256];
    long size = keyctl(KEYCTL_DESCRIBE, key, (long)text, sizeof text, 0);
    if (size < 0 || (size_t)size > sizeof text) return 0;
    /* "user;UID;GID;PERMISSIONS;DESCRIPTION" */
    const char *field = text;
    for (int count = 0; count < 4 && field; count++) {
        field = strchr(field, ';');
        if (field) field++;
    }
    return field && strncmp(text, "user;", 5) == 0 && strncmp(field, prefix, strlen(prefix)) == 0;
}

int64_t vault_keys(const char *prefix, int32_t *found, size_t count) {
    long result = possess_user_keyring();
    if (result < 0) return result;
    long size = keyctl(KEYCTL_READ, KEY_SPEC_USER_KEYRING, 0, 0, 0);
    if (size <= 0) return size;
    int32_t *keys = malloc((size_t)size);
    if (!keys) return -ENOMEM;
    long read = keyctl(KEYCTL_READ, KEY_SPEC_USER_KEYRING, (long)keys, size, 0);
    if (read > size) read = size; /* Keys were added in the meantime. */
    int64_t matching = 0;
    for (long at = 0; at < read / (long)sizeof *keys; at++) {
        if (!has_prefix(keys[at], prefix)) continue;
        if ((size_t)matching < count) found[matching] = keys[at];
        matching++;
    }
    free(keys);
    return read < 0 ? read : matching;
}

int64_t vault_key_read(int32_t key, void *payload, size_t size) { return gone(keyctl(KEYCTL_READ, key, (long)payload, (long)size, 0)); }

int64_t vault_key_drop_numbered(int32_t key) { return drop(key); }
