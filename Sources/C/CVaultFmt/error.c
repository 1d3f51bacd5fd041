#include "vaultfmt_error.h"

#include <pthread.h>

#include "vaultfmt.h"

static _Thread_local struct {
    char text[1024];
    uint64_t offset;
    int32_t has_offset;
} last;

void vaultfmt_internal_clear_error(void) {
    last.text[0] = 0;
    last.offset = 0;
    last.has_offset = 0;
}

int vaultfmt_internal_begin(void) {
    int state = PTHREAD_CANCEL_ENABLE;
    vaultfmt_internal_clear_error();
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &state);
    return state;
}

void vaultfmt_internal_end(int cancel_state) { pthread_setcancelstate(cancel_state, NULL); }

void vaultfmt_internal_set_error(const char *text, size_t size, int32_t has_offset, uint64_t offset) {
    size_t length = size;
    if (length >= sizeof last.text) {
        length = sizeof last.text - 1;
        /* Do not split a character. */
        while (length > 0 && ((unsigned char)text[length] & 0xC0) == 0x80) length--;
    }
    memcpy(last.text, text, length);
    last.text[length] = 0;
    last.has_offset = has_offset;
    last.offset = offset;
}

const char *vaultfmt_version(void) { return VAULTFMT_VERSION; }

/* memset is called through a volatile pointer, which prevents the compiler from optimising the call away. */
void vaultfmt_wipe(void *memory, size_t size) {
    static void *(*const volatile set)(void *, int, size_t) = memset;
    if (memory != NULL) set(memory, 0, size);
}

const char *vaultfmt_error_text(void) { return last.text; }

vaultfmt_status vaultfmt_fail(vaultfmt_status status, const char *text) {
    vaultfmt_internal_clear_error();
    if (text != NULL) vaultfmt_internal_set_error(text, strlen(text), 0, 0);
    return status;
}

int32_t vaultfmt_error_offset(uint64_t *offset) {
    if (offset != NULL) *offset = last.offset;
    return last.has_offset;
}

const char *vaultfmt_status_name(vaultfmt_status status) {
    static const char *const names[] = {
        "ok", "not-a-vault", "unsupported-version", "unsupported-critical", "header-invalid", "kdf-limit", "no-slot-opens",
        "authentication-failed", "structure-invalid", "limit-exceeded", "device-bound", "tampered", "rolled-back", "forked", "no-such-item",
        "duplicate-item", "no-such-file", "file-exists", "io", "no-space", "busy", "read-only", "locked", "not-permitted", "outcome-unknown",
        "cannot-replace", "last-slot", "no-such-slot", "key-file-invalid", "passphrase-invalid", "weak-kdf", "invalid-argument",
        "out-of-memory", "no-kernel-keyring", "other-process", "no-secret", "foreign-owner", "memory-damaged",
        "unsupported-form", "damaged-tail", "read-only-extension",
    };
    if (status < 0 || (size_t)status >= sizeof names / sizeof names[0]) return "unknown";
    return names[status];
}
