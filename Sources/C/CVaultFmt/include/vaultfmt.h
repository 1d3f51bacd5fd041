/* vaultfmt.h - the C interface of vaultfmt: vaults, encrypted single-file stores of passwords, certificates, keys and identities.
 *
 * The format is specified in vaultfmt-1.md; "section" below refers to its sections.
 * Link with `pkg-config --cflags --libs vaultfmt`.
 *
 * Conventions
 *
 *   Status     Functions return a vaultfmt_status: 0, or an error number, which is the same in every language.
 *              vaultfmt_error_text() describes the error in words; call that function on the same thread before the
 *              thread calls the library again.
 *   Outputs    Outputs are zeroed first: after an error, an output is NULL or all zeros. An output pointer must not be
 *              NULL unless its description allows it.
 *   Bytes      Names and secrets are vaultfmt_bytes: a pointer and a size, without a terminator. Text is UTF-8 and may
 *              contain any character, including NUL; text that is not UTF-8 results in VAULTFMT_INVALID_ARGUMENT. A
 *              NULL pointer means "not given", which is different from empty. The library copies any input that it
 *              keeps: the memory still belongs to the caller, which should wipe (vaultfmt_wipe) and free it.
 *   Ownership  Objects that a function returns through a pointer to a pointer belong to the caller, which must pass
 *              them to the freeing function of their type. They are read-only, may be used after their vault has been
 *              closed, and are wiped when freed. All freeing functions accept NULL.
 *   Threads    "Any thread" means that the function may run at the same time as any other call, even on the same
 *              handle. A handle must not be used after or while it is freed. A thread needs a stack of 256 KiB. A
 *              thread that is cancelled (pthread_cancel) continues until its call returns. A signal handler must not
 *              call the library, and neither a signal handler nor a callback may leave a library call by longjmp.
 *   Processes  A handle or cursor belongs to the process that opened it. In a child process, after fork(), every call
 *              on it returns VAULTFMT_OTHER_PROCESS, and closing it has no effect: the child neither writes nor
 *              releases the parent's locks. Objects that the library has returned (items, slots, reports) are the
 *              child's own copies. A child may open the vault itself, even if other threads of the parent were using
 *              the library when it forked: fork() waits for their calls, unless they are waiting for a lock or running
 *              one of the caller's functions. If a writer dies within a transaction, other writers are blocked until
 *              its children have also ended or called exec.
 *   Memory     If there is not enough memory for a secret, or for an allocation whose size a file or a caller
 *              determines, the error is VAULTFMT_OUT_OF_MEMORY. At most about 12,000 secrets over 32 KiB can be held at
 *              a time. If a small allocation fails, the library calls abort().
 *   Randomness The system's random number generator must be available (getrandom, or /dev/urandom if the kernel does
 *              not have that call); otherwise the library calls abort() when it is loaded or first used.
 *   Unloading  The library stays loaded after dlclose().
 *   Sizes      Structures that the caller fills in begin with their size, which the VAULTFMT_..._INIT macros set. A
 *              size that this library does not know results in VAULTFMT_INVALID_ARGUMENT: the program was compiled with
 *              a different header. Structures that the library returns may gain members at the end.
 *   Times      Milliseconds since 1970-01-01T00:00:00Z.
 *
 * Secrets and sealed attributes are held in locked, guarded memory that is wiped after use. Names and other attributes
 * pass through ordinary memory.
 */
#ifndef VAULTFMT_H
#define VAULTFMT_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- Status ---- */

typedef int32_t vaultfmt_status;

enum {
    VAULTFMT_OK = 0,
    VAULTFMT_NOT_A_VAULT = 1,           /* the file does not begin with a vault header */
    VAULTFMT_UNSUPPORTED_VERSION = 2,   /* the file has a later format version */
    VAULTFMT_UNSUPPORTED_CRITICAL = 3,  /* the file requires an extension that this version does not know */
    VAULTFMT_HEADER_INVALID = 4,        /* the header is malformed */
    VAULTFMT_KDF_LIMIT = 5,             /* a slot's key derivation costs more than the reader's limits allow */
    VAULTFMT_NO_SLOT_OPENS = 6,         /* no slot opens with these factors */
    VAULTFMT_AUTHENTICATION_FAILED = 7, /* sealed data does not authenticate: it is damaged or altered */
    VAULTFMT_STRUCTURE_INVALID = 8,     /* the data is authentic but malformed */
    VAULTFMT_LIMIT_EXCEEDED = 9,        /* a limit of the format would be exceeded (section 11); nothing was written */
    VAULTFMT_DEVICE_BOUND = 10,         /* the secret is bound to another device */
    VAULTFMT_TAMPERED = 11,             /* the newest commit was not made by an owner, or belongs to another header */
    VAULTFMT_ROLLED_BACK = 12,          /* the file lacks changes of a remembered state */
    VAULTFMT_FORKED = 13,               /* the file and the remembered state each have changes that the other lacks */
    VAULTFMT_NO_SUCH_ITEM = 14,
    VAULTFMT_DUPLICATE_ITEM = 15,
    VAULTFMT_NO_SUCH_FILE = 16,
    VAULTFMT_FILE_EXISTS = 17,
    VAULTFMT_IO = 18,                   /* an operating system call failed */
    VAULTFMT_NO_SPACE = 19,
    VAULTFMT_BUSY = 20,                 /* another process is writing */
    VAULTFMT_READ_ONLY = 21,            /* the vault was opened for reading */
    VAULTFMT_LOCKED = 22,               /* the vault is locked */
    VAULTFMT_NOT_PERMITTED = 23,        /* the slot that opened the vault does not grant this */
    VAULTFMT_OUTCOME_UNKNOWN = 24,      /* a sync failed: the last change may or may not be durable; the handle refuses to write */
    VAULTFMT_CANNOT_REPLACE = 25,       /* the file cannot be replaced without losing its links, owner or attributes */
    VAULTFMT_LAST_SLOT = 26,            /* the last full slot cannot be removed */
    VAULTFMT_NO_SUCH_SLOT = 27,
    VAULTFMT_KEY_FILE_INVALID = 28,     /* the key file is damaged, empty or too large */
    VAULTFMT_PASSPHRASE_INVALID = 29,   /* the passphrase is empty, too long or not UTF-8 */
    VAULTFMT_WEAK_KDF = 30,             /* the cost of the key derivation is below the minimum */
    VAULTFMT_INVALID_ARGUMENT = 31,
    VAULTFMT_OUT_OF_MEMORY = 32,        /* not enough memory for the key derivation, a secret or a large buffer */
    VAULTFMT_NO_KERNEL_KEYRING = 33,    /* the system has no kernel keyring, or does not allow access to it */
    VAULTFMT_OTHER_PROCESS = 34,        /* the handle was opened by the parent process, before a fork: open the vault again */
    VAULTFMT_NO_SECRET = 35,            /* the item shows no secret: it was forgotten, is left to settle, or is an earlier value */
    VAULTFMT_FOREIGN_OWNER = 36,        /* the vault's owners differ from those that were remembered or required */
    VAULTFMT_MEMORY_DAMAGED = 37,       /* this machine's record of the vault is damaged */
    VAULTFMT_UNSUPPORTED_FORM = 38,     /* the value is stored in a form that this version does not know */
    VAULTFMT_DAMAGED_TAIL = 39,         /* a damaged commit follows the newest state: call vaultfmt_repair first */
    VAULTFMT_READ_ONLY_EXTENSION = 40   /* the vault has an extension that this version does not know; only programs that know it may write */
};

/* Returns the name of a status, such as "no-such-item"; "unknown" for any other number. The string is static. Any
   thread. */
const char *vaultfmt_status_name(vaultfmt_status status);

/* Returns a description of the error if the last call on this thread failed, as one line of UTF-8 of at most 1023
   bytes, or "" if the call succeeded. The text may contain names from the vault, but never a secret. It must not be
   freed, and is valid until this thread calls the library again. Any thread. */
const char *vaultfmt_error_text(void);

/* Returns 1 and stores the byte offset if the last error has a position in the file, otherwise 0. Any thread. */
int32_t vaultfmt_error_offset(uint64_t *offset);

/* The library version to which this header belongs. */
#define VAULTFMT_VERSION "0.1.0"

/* Returns the version of the running library. The string is static. Any thread. */
const char *vaultfmt_version(void);

/* Returns the newest version of the format that this library reads and writes. Any thread. */
uint32_t vaultfmt_format_version(void);

/* ---- Bytes ---- */

typedef struct vaultfmt_bytes {
    const uint8_t *data;
    size_t size;
} vaultfmt_bytes;

/* Returns the bytes of a C string; "not given" if the string is NULL. */
static inline vaultfmt_bytes vaultfmt_text(const char *text) {
    vaultfmt_bytes bytes;
    bytes.data = (const uint8_t *)text;
    bytes.size = text == NULL ? 0 : strlen(text);
    return bytes;
}

/* Overwrites the caller's memory with zeros; the compiler cannot optimise the write away. Any thread. */
void vaultfmt_wipe(void *memory, size_t size);

/* Bytes that a function returns: a secret, a value, a path, an anchor. Paths and anchors are followed by a NUL that their
   size does not include, so `(const char *)value->bytes.data` is a C string. */
typedef struct vaultfmt_value {
    vaultfmt_bytes bytes; /* never NULL */
} vaultfmt_value;

/* Wipes and frees a value. One thread. */
void vaultfmt_value_free(const vaultfmt_value *value);

/* ---- Factors ---- */

typedef struct vaultfmt_provider vaultfmt_provider; /* see "External keys" */

/* A passphrase, the contents of a key file, or both; an external key from a provider, alone or with a passphrase; or a
   raw key alone. The memory belongs to the caller. */
typedef struct vaultfmt_factors {
    uint32_t struct_size;
    vaultfmt_bytes passphrase; /* UTF-8, 1 to 65,536 bytes; normalised to NFC by the library, not trimmed */
    vaultfmt_bytes key_file;   /* the file's contents, 1 byte to 64 MiB */
    vaultfmt_bytes raw_key;    /* exactly 32 random bytes, which are not stretched */
    const vaultfmt_provider *external; /* finds the external key; NULL for none */
} vaultfmt_factors;

#define VAULTFMT_FACTORS_INIT {(uint32_t)sizeof(vaultfmt_factors), {NULL, 0}, {NULL, 0}, {NULL, 0}, NULL}

#define VAULTFMT_KEY_FILE_SIZE 89
/* Generates the contents of a new key file, 89 bytes of ASCII (section 3.1). Store them in a file that only its owner
   can read, and wipe them. Any thread. */
vaultfmt_status vaultfmt_key_file_generate(uint8_t out[VAULTFMT_KEY_FILE_SIZE]);

#define VAULTFMT_DEVICE_SIZE 48
/* Generates a new device: an id and a secret. Device-only items require the secret in addition to the vault's own keys.
   Protect it like a key file. Any thread. */
vaultfmt_status vaultfmt_device_generate(uint8_t out[VAULTFMT_DEVICE_SIZE]);

/* ---- External keys ----
 *
 * A provider generates 32 secret bytes for a slot, and parameters from which anyone with the right token, device or
 * identity can recover those bytes (section 3.1). Its functions return VAULTFMT_OK or a status; in the latter case, the
 * call that invoked them fails with that status. vaultfmt_fail adds an error text. The functions run on the
 * thread of that call, and other writers wait while they run. They must not use the vault for which they were called;
 * doing so results in VAULTFMT_INVALID_ARGUMENT. The structure and its name must remain valid until the call returns;
 * the vault keeps neither. The file never chooses a provider: only the caller does.
 */

#define VAULTFMT_EXTERNAL_KEY_SIZE 32

/* These objects collect the data that a provider generates for a slot, and the keys that it finds; they are valid only
   while the provider's function runs. */
typedef struct vaultfmt_wrapped vaultfmt_wrapped;
typedef struct vaultfmt_candidates vaultfmt_candidates;

/* A slot as seen by its provider. */
typedef struct vaultfmt_external_slot {
    uint8_t id[16];
    vaultfmt_bytes parameters; /* as stored by the provider, or replaced by anyone who can write to the file */
} vaultfmt_external_slot;

struct vaultfmt_provider {
    uint32_t struct_size;
    uint32_t reserved; /* 0 */
    const char *name;  /* ASCII 33 to 126, 1 to 64 bytes; names without a dot are reserved for the specification */
    void *context;     /* passed to each function */
    /* Generates a key for a new slot and passes it to vaultfmt_wrapped_set. NULL if the provider cannot do this. */
    vaultfmt_status (*wrap)(void *context, vaultfmt_wrapped *wrapped);
    /* Generates another key for the slot with the given owners' data, without anyone's token or identity, as a rotation
       requires. If the function is NULL or does not set a result, a rotation drops the slot. */
    vaultfmt_status (*rewrap)(void *context, vaultfmt_bytes owners_data, vaultfmt_wrapped *wrapped);
    /* Finds the keys of all slots of the vault that name this provider, and passes them to vaultfmt_candidates_add. It
       skips slots that it cannot open. NULL if the provider cannot open slots. */
    vaultfmt_status (*unwrap)(
        void *context, const vaultfmt_external_slot *slots, size_t count, vaultfmt_candidates *candidates);
};

#define VAULTFMT_PROVIDER_INIT {(uint32_t)sizeof(vaultfmt_provider), 0, NULL, NULL, NULL, NULL, NULL}

/* Sets the results of a provider's wrap or rewrap; if it is called more than once, the last call takes effect. All
   arguments are copied. Returns VAULTFMT_LIMIT_EXCEEDED if the parameters, which anyone can read, or the owners' data
   exceed 16,384 bytes, and VAULTFMT_INVALID_ARGUMENT if the key is not exactly 32 bytes. Call this on the thread on
   which the provider's function runs. */
vaultfmt_status vaultfmt_wrapped_set(
    vaultfmt_wrapped *wrapped, vaultfmt_bytes parameters, vaultfmt_bytes owners_data, vaultfmt_bytes key);

/* Adds a candidate for the slot at the given index in the slots passed to unwrap; the key is copied. At most 16
   candidates per slot are used, and further ones are ignored. Returns VAULTFMT_INVALID_ARGUMENT for an invalid index, or
   for a key that is not exactly 32 bytes. Call this on the thread on which the provider's function runs. */
vaultfmt_status vaultfmt_candidates_add(vaultfmt_candidates *candidates, size_t slot, vaultfmt_bytes key);

/* Sets the error text of the failing call, one line of UTF-8, and returns the status, for a provider's function to
   return. Any thread. */
vaultfmt_status vaultfmt_fail(vaultfmt_status status, const char *text);

/* ---- Creating, opening, closing ---- */

typedef struct vaultfmt_vault vaultfmt_vault; /* closed with vaultfmt_close */

/* Options for opening. The limits are the maximum cost of a key derivation: Argon2id's memory, passes and lanes. */
typedef struct vaultfmt_open_options {
    uint32_t struct_size;
    uint32_t writable;                /* 1 to open the vault for changing */
    int64_t lock_wait;                /* the maximum time that a change waits for another writer, in milliseconds */
    uint32_t most_kdf_memory;         /* per slot, in KiB; beyond it, VAULTFMT_KDF_LIMIT is returned before any work is done */
    uint32_t most_kdf_passes;         /* per slot */
    uint32_t most_kdf_lanes;          /* per slot */
    uint32_t reserved;                /* 0 */
    uint64_t most_kdf_work;           /* memory in KiB times passes, summed over all slots that are tried */
    vaultfmt_bytes device;            /* this device, from vaultfmt_device_generate; needed to open device-only items */
    const char *anchor;               /* a state whose changes the vault must include (vaultfmt_get_anchor), or NULL */
    vaultfmt_bytes owners;            /* the required owners' public key, 32 bytes from vaultfmt_info; if it differs,
                                         VAULTFMT_FOREIGN_OWNER before any contents are released; for programs that do
                                         not remember states */
} vaultfmt_open_options;

#define VAULTFMT_OPEN_OPTIONS_INIT \
    {(uint32_t)sizeof(vaultfmt_open_options), 0, 10000, 2u << 20, 16, 16, 0, 16u << 20, {NULL, 0}, NULL, {NULL, 0}}

typedef struct vaultfmt_create_options {
    uint32_t struct_size;
    uint32_t kdf_memory;              /* in KiB; at least 8 KiB per lane */
    uint32_t kdf_passes;
    uint32_t kdf_lanes;
    uint32_t allow_weak_kdf;          /* 1 to allow a cost below 19 MiB or 2 passes, which otherwise results in VAULTFMT_WEAK_KDF */
    uint32_t kept_versions;           /* the number of earlier values that each field of an item keeps, 0 to 50 */
    int64_t lock_wait;                /* as in vaultfmt_open_options */
    vaultfmt_bytes slot_name;         /* the first slot's name, at most 63 bytes */
    vaultfmt_bytes device;            /* as in vaultfmt_open_options */
} vaultfmt_create_options;

/* 256 MiB, 3 passes, 1 lane; 10 earlier values. */
#define VAULTFMT_CREATE_OPTIONS_INIT \
    {(uint32_t)sizeof(vaultfmt_create_options), 256u << 10, 3, 1, 0, 10, 10000, {NULL, 0}, {NULL, 0}}

/* Creates a vault with one full slot, and opens it for changing. An existing file is never overwritten: the call
   returns VAULTFMT_FILE_EXISTS. If `options` is NULL, the defaults apply. Can also return VAULTFMT_WEAK_KDF,
   _KDF_LIMIT, _PASSPHRASE_INVALID, _KEY_FILE_INVALID, _NO_SPACE, _IO, and any error of a provider. Any thread. */
vaultfmt_status vaultfmt_create(
    const char *path, const vaultfmt_factors *factors, const vaultfmt_create_options *options, vaultfmt_vault **vault);

/* Opens a vault with the factors of one of its slots. If `options` is NULL, the defaults apply, and the vault is opened
   for reading. No state is remembered: see "This machine". Can return VAULTFMT_NO_SUCH_FILE, _NOT_A_VAULT,
   _UNSUPPORTED_VERSION, _UNSUPPORTED_CRITICAL, _HEADER_INVALID, _KDF_LIMIT, _NO_SLOT_OPENS, _AUTHENTICATION_FAILED,
   _STRUCTURE_INVALID, _TAMPERED, _IO; with an owners' key or an anchor, _FOREIGN_OWNER; with an anchor, _ROLLED_BACK and
   _FORKED; and any error of a provider. Any thread. */
vaultfmt_status vaultfmt_open(
    const char *path, const vaultfmt_factors *factors, const vaultfmt_open_options *options, vaultfmt_vault **vault);

/* Wipes the keys and frees the handle. An open transaction is rolled back. Cursors on the vault can still be used, and
   keep the file open. One thread, after all other calls on this handle. */
void vaultfmt_close(vaultfmt_vault *vault);

/* Creates a second handle for the same open vault, with its own transaction: see "Transactions". Both handles share
   state, keys and lock. Each is closed separately; closing the last one wipes the keys. Can return
   VAULTFMT_OTHER_PROCESS. Any thread. */
vaultfmt_status vaultfmt_share(vaultfmt_vault *vault, vaultfmt_vault **shared);

/* Moves to the newest committed state in the file, as every change does automatically. A locked vault stays at its
   current state. Returns VAULTFMT_ROLLED_BACK or _FORKED if the newest state does not descend from the current one, or
   any error of vaultfmt_open. Any thread. */
vaultfmt_status vaultfmt_refresh(vaultfmt_vault *vault);

/* Wipes the vault key and the keys of items that are accessible only when unlocked; the other items can still be read,
   in their current state. Returns VAULTFMT_INVALID_ARGUMENT within a transaction. Any thread. */
vaultfmt_status vaultfmt_lock(vaultfmt_vault *vault);

/* Unlocks a vault with the factors of any of its slots, and moves to the newest state. Only the limits in `options` are
   used; if `options` is NULL, the defaults apply. Returns the same errors as vaultfmt_open. Any thread. */
vaultfmt_status vaultfmt_unlock(vaultfmt_vault *vault, const vaultfmt_factors *factors, const vaultfmt_open_options *options);

/* ---- Unlocking once ----
 *
 * The key that opens a vault can be kept in the user's keyring in the Linux kernel. It is not stored in any file, is
 * never swapped out, is wiped when its time expires, and is available to every process running as the same user.
 * `vaultfmt unlock` and `vaultfmt lock` do the same. These functions return VAULTFMT_NO_KERNEL_KEYRING if the keyring
 * is not available, as in most containers.
 */

/* Keeps a vault unlocked for this many seconds, at least 1. Can return VAULTFMT_LOCKED. Any thread. */
vaultfmt_status vaultfmt_keep_unlocked(vaultfmt_vault *vault, uint32_t seconds);

/* Opens a vault with the key that keeps it unlocked; returns VAULTFMT_NO_SLOT_OPENS if no such key is available. If
   `options` is NULL, the defaults apply. Otherwise, this is like vaultfmt_local_open. Any thread. */
vaultfmt_status vaultfmt_open_unlocked(const char *path, const vaultfmt_open_options *options, vaultfmt_vault **vault);

/* Stops keeping unlocked the vault in a file and any vault that was unlocked at that path, even if the file is gone or
   damaged; open handles stay open. Returns VAULTFMT_OK even if the vault was not kept unlocked. Any thread. */
vaultfmt_status vaultfmt_end_unlocked(const char *path);

/* ---- This machine ----
 *
 * vaultfmt_open does not remember states: it is for programs that keep anchors themselves. These functions do what the
 * `vaultfmt` command does: the machine remembers the newest durable state of each vault, and the owners' key for that
 * state, in $XDG_STATE_HOME/vaultfmt. A vault is compared with this state before any of its contents are released, and
 * again whenever the vault is refreshed, unlocked or changed. A vault that does not continue the state is refused until
 * it is accepted with vaultfmt_local_accept or `vaultfmt anchor --accept`:
 *
 *   VAULTFMT_ROLLED_BACK     the vault lacks changes of the remembered state
 *   VAULTFMT_FORKED          the vault and the remembered state each have changes that the other lacks
 *   VAULTFMT_FOREIGN_OWNER   the vault has different owners, and no hand-over leads to them (a rotation makes one)
 *   VAULTFMT_MEMORY_DAMAGED  the remembered state is damaged
 *
 * The machine's device is used if the options do not name one.
 */

typedef struct vaultfmt_local_options {
    uint32_t struct_size;
    uint32_t make_device;     /* 1 to create this machine's device, for device-only items, if it does not have one */
    const char *state_folder; /* the folder of remembered states and the device; NULL for $XDG_STATE_HOME/vaultfmt */
    /* Called when a vault is seen for the first time or a file is created (is_warning 0), or when an operation fails
       (is_warning 1). The text is one line of UTF-8, valid only during the call. The function runs on the thread of the
       call that causes the notice and must not use the vault; it can be called until the vault is closed. NULL for no
       notices. */
    void (*notice)(void *context, uint32_t is_warning, const char *text);
    void *context;
} vaultfmt_local_options;

#define VAULTFMT_LOCAL_OPTIONS_INIT {(uint32_t)sizeof(vaultfmt_local_options), 0, NULL, NULL, NULL}

/* Stores the path of the default vault: VAULTFMT_VAULT, or vaultfmt/default.vault in XDG_DATA_HOME. Returns
   VAULTFMT_LIMIT_EXCEEDED if the path, including its terminator, is longer than `size` bytes. Any thread. */
vaultfmt_status vaultfmt_local_default_path(char *path, size_t size);

/* Like vaultfmt_create, but also remembers the vault. If `path` is NULL, the default path is used. Any thread. */
vaultfmt_status vaultfmt_local_create(
    const char *path, const vaultfmt_factors *factors, const vaultfmt_create_options *options, const vaultfmt_local_options *local,
    vaultfmt_vault **vault);

/* Like vaultfmt_open, but also compares the vault with the state that this machine remembers. If `path` is NULL, the
   default path is used. If `factors` is NULL, the vault is opened with the factors from VAULTFMT_PASSPHRASE,
   VAULTFMT_PASSPHRASE_FILE and VAULTFMT_KEY_FILE, or else with the key that `vaultfmt unlock` keeps; if there is
   neither, the call returns VAULTFMT_NO_SLOT_OPENS. Any thread. */
vaultfmt_status vaultfmt_local_open(
    const char *path, const vaultfmt_factors *factors, const vaultfmt_open_options *options, const vaultfmt_local_options *local,
    vaultfmt_vault **vault);

/* Remembers the state of a file, regardless of what was remembered before. Examine the file first. Returns the same
   errors as vaultfmt_open, and VAULTFMT_IO or _OUTCOME_UNKNOWN if the state cannot be stored. Any thread. */
vaultfmt_status vaultfmt_local_accept(
    const char *path, const vaultfmt_factors *factors, const vaultfmt_open_options *options, const vaultfmt_local_options *local);

/* ---- State ---- */

enum {
    VAULTFMT_TAIL_CLEAN = 0,
    VAULTFMT_TAIL_WRITE_IN_PROGRESS = 1, /* another process is writing */
    /* The tail_size bytes after the newest commit do not belong to any commit. The next writer removes them. */
    VAULTFMT_TAIL_TORN = 2,
    /* Generation tail_generation is incomplete, and the previous one is used. The next writer moves it to a separate
     * file. */
    VAULTFMT_TAIL_INCOMPLETE = 3,
    /* The tail_size bytes after the newest commit contain a commit that does not open. Writers refuse to write until
       vaultfmt_repair is called. */
    VAULTFMT_TAIL_DAMAGED = 4
};

#define VAULTFMT_OWNERS_SIZE 32

typedef struct vaultfmt_info {
    uint32_t struct_size;               /* set by the caller */
    uint32_t is_writable;
    uint32_t is_locked;
    uint32_t is_owner;                  /* 0: opened with a scoped slot, for the index and some access groups only */
    uint64_t generation;                /* the state's generation, greater than in any earlier state in the file */
    uint8_t vault_id[16];
    /* The owners' public key, which is the same for all slots and is replaced by a rotation. It is not secret. */
    uint8_t owners[VAULTFMT_OWNERS_SIZE];
    uint32_t tail;                      /* VAULTFMT_TAIL_... */
    uint32_t kept_versions;             /* the number of earlier values that each field of an item keeps */
    uint64_t tail_size;
    uint64_t tail_generation;
} vaultfmt_info;

/* Returns the information about a vault that is available without reading its index. `info->struct_size` must be set;
   the rest is zeroed first. Any thread. */
vaultfmt_status vaultfmt_get_info(vaultfmt_vault *vault, vaultfmt_info *info);

/* Returns the state's anchor: text that a program can remember in order to detect a rollback of the file (section 7.2).
   The value belongs to the caller, which must pass it to vaultfmt_value_free; a NUL follows the text. Its form will not
   change: VAULT:GENERATION:CHAIN:OWNERS:FLOOR:ROWS, where the generation and the floor are decimal, and vault, chain
   and owners are 32, 64 and 64 hexadecimal digits. The rows are separated by commas; there is one for each replica id
   under which the vault was changed: 16 hexadecimal digits, an exclamation mark if the id is split, an equals sign, and
   a decimal revision. The text has about 200 bytes, plus 40 for each id. Can return VAULTFMT_AUTHENTICATION_FAILED,
   _STRUCTURE_INVALID and _IO if the part of the file that lists the rows is damaged. Any thread. */
vaultfmt_status vaultfmt_get_anchor(vaultfmt_vault *vault, const vaultfmt_value **anchor);

enum {
    VAULTFMT_VERDICT_SAME = 0,     /* the vault has the same changes as the anchor */
    VAULTFMT_VERDICT_DESCENDS = 1, /* the vault has all of the anchor's changes, and others */
    VAULTFMT_VERDICT_OLDER = 2,    /* the vault lacks changes of the anchor and adds none: the file was rolled back */
    VAULTFMT_VERDICT_FORKED = 3,   /* the vault and the anchor each have changes that the other lacks */
    VAULTFMT_VERDICT_FOREIGN = 4   /* the vault has different owners, and no hand-over leads to them */
};

/* Compares the state with a remembered anchor, a C string. Returns VAULTFMT_INVALID_ARGUMENT if the anchor belongs to
   another vault, and the same errors as vaultfmt_get_anchor. Any thread. */
vaultfmt_status vaultfmt_check_anchor(vaultfmt_vault *vault, const char *anchor, int32_t *verdict);

typedef struct vaultfmt_statistics {
    uint32_t struct_size;       /* set by the caller */
    uint32_t is_memory_locked;  /* 0: secrets could not be protected from being swapped out */
    uint64_t items;
    uint64_t forgotten_values;  /* forgotten values, which no copy of the vault can restore */
    uint64_t file_bytes;
    uint64_t live_bytes;
    uint64_t dead_bytes;        /* the bytes that compaction would free */
    uint32_t tree_height;
    uint32_t kept_versions;     /* the number of earlier values that each field of an item keeps */
    uint64_t items_with_past;   /* items that have earlier values, or values that a merge has left to settle */
    uint64_t replicas;          /* the number of replica ids; 0 if their list is damaged */
} vaultfmt_statistics;

/* Returns statistics. Reads the whole index, but no secrets. Any thread. */
vaultfmt_status vaultfmt_get_statistics(vaultfmt_vault *vault, vaultfmt_statistics *statistics);

/* ---- Items ---- */

enum {
    VAULTFMT_GENERIC_PASSWORD = 1,
    VAULTFMT_INTERNET_PASSWORD = 2,
    VAULTFMT_CERTIFICATE = 3,
    VAULTFMT_KEY = 4,
    VAULTFMT_IDENTITY = 5
    /* 6 to 63 are reserved for later versions of the format: such items can be listed, read, moved and removed, but not created */
};

/* The conditions under which a secret can be read. They determine which keys a locked vault keeps, and whether the
   device that wrote the secret is needed. */
enum {
    VAULTFMT_WHEN_UNLOCKED = 1,
    VAULTFMT_AFTER_FIRST_UNLOCK = 2,
    VAULTFMT_ALWAYS = 3,
    VAULTFMT_WHEN_PASSCODE_SET_THIS_DEVICE_ONLY = 4,
    VAULTFMT_WHEN_UNLOCKED_THIS_DEVICE_ONLY = 5,
    VAULTFMT_AFTER_FIRST_UNLOCK_THIS_DEVICE_ONLY = 6,
    VAULTFMT_ALWAYS_THIS_DEVICE_ONLY = 7
};

/* Identifies an item: its class and the fields of that class (section 6.1). Fields of other classes must be zero; a
   field of the class that is not given is empty or 0. Zero the whole structure first. Text and byte fields can be at
   most 4096 bytes each and 8192 bytes in total. */
typedef struct vaultfmt_key {
    uint32_t item_class;                 /* VAULTFMT_GENERIC_PASSWORD to _IDENTITY, or 6 to 63 */
    uint32_t synchronizable;             /* 0 or 1 */
    vaultfmt_bytes group;                /* the access group */
    vaultfmt_bytes service;              /* generic password */
    vaultfmt_bytes account;              /* generic and internet password */
    vaultfmt_bytes server;               /* internet password, as are the next five */
    vaultfmt_bytes protocol;
    vaultfmt_bytes path;
    vaultfmt_bytes security_domain;
    vaultfmt_bytes authentication_type;
    uint32_t port;
    uint32_t type;                       /* certificate and identity, as are the next two */
    vaultfmt_bytes issuer;               /* DER */
    vaultfmt_bytes serial_number;
    uint32_t key_class;                  /* key, as are the following ones */
    uint32_t key_type;
    vaultfmt_bytes application_label;
    vaultfmt_bytes application_tag;
    uint32_t size_in_bits;
    uint32_t effective_size;
    const vaultfmt_bytes *texts;         /* classes 6 to 63: their fields except the group, at most 15 */
    size_t text_count;
} vaultfmt_key;

/* Returns the key of a generic password. The strings are not copied. */
static inline vaultfmt_key vaultfmt_generic_password(const char *service, const char *account) {
    vaultfmt_key key;
    memset(&key, 0, sizeof key);
    key.item_class = VAULTFMT_GENERIC_PASSWORD;
    key.service = vaultfmt_text(service);
    key.account = vaultfmt_text(account);
    return key;
}

/* Returns the key of an internet password. The strings are not copied. */
static inline vaultfmt_key vaultfmt_internet_password(const char *server, const char *account, const char *protocol, uint32_t port) {
    vaultfmt_key key;
    memset(&key, 0, sizeof key);
    key.item_class = VAULTFMT_INTERNET_PASSWORD;
    key.server = vaultfmt_text(server);
    key.account = vaultfmt_text(account);
    key.protocol = vaultfmt_text(protocol);
    key.port = port;
    return key;
}

enum {
    VAULTFMT_ATTRIBUTE_SEALED = 1,    /* protected like the secret: not in the index, and earlier values are kept */
    VAULTFMT_ATTRIBUTE_CONCEALED = 2, /* shown only on request */
    VAULTFMT_ATTRIBUTE_BINARY = 4     /* not text */
};

/* A name of 1 to 255 bytes and a value of at most 16 MiB; an item can have at most 64 attributes. Listing reads unsealed
   values of at most 256 bytes, vaultfmt_get reads values of at most 4096 bytes, and vaultfmt_get_attribute reads values
   of any size. */
typedef struct vaultfmt_attribute {
    vaultfmt_bytes name;
    vaultfmt_bytes value;  /* NULL on output: the value was not read; NULL on input: the attribute is removed */
    uint32_t flags;        /* VAULTFMT_ATTRIBUTE_... */
    /* 1 to use `flags`; always 1 on output. 0 to keep the flags of the item's existing attribute, or to give a new
       attribute the default flags: `notes`, `otp` and names that start with "sealed:" are sealed. */
    uint32_t states_flags;
} vaultfmt_attribute;

/* Returns a text attribute with its existing or default flags. The strings are not copied. If the value is NULL, the
   attribute is removed. */
static inline vaultfmt_attribute vaultfmt_text_attribute(const char *name, const char *value) {
    vaultfmt_attribute attribute;
    memset(&attribute, 0, sizeof attribute);
    attribute.name = vaultfmt_text(name);
    attribute.value = vaultfmt_text(value);
    return attribute;
}

/* An item. vaultfmt_item_free frees it and everything that it points to. */
typedef struct vaultfmt_item {
    uint8_t id[16];                       /* random; never changes while the item exists */
    vaultfmt_key key;
    vaultfmt_bytes encoded_key;           /* the key as stored in the index; items are sorted by this key */
    uint32_t accessibility;               /* VAULTFMT_WHEN_UNLOCKED to _ALWAYS_THIS_DEVICE_ONLY */
    uint32_t is_device_bound;
    uint8_t device[16];                   /* the device to which the item is bound; otherwise zeros */
    int64_t created;
    int64_t modified;
    uint64_t revision;                    /* a hybrid logical clock value, greater for newer states of the item */
    const vaultfmt_attribute *attributes; /* all attributes, sorted by the bytes of their names */
    size_t attribute_count;
    size_t unread_attribute_count;        /* the number of attributes with values that were not read */
    vaultfmt_bytes secret;                /* NULL if it was not requested, or was refused */
    vaultfmt_status secret_status;        /* the reason for a refusal: VAULTFMT_DEVICE_BOUND, _NOT_PERMITTED, _LOCKED or
                                             _NO_SECRET; otherwise VAULTFMT_OK */
    uint32_t has_past;                    /* 1: the item has earlier values, or values that a merge has left to settle */
    uint32_t needs_settling;              /* 1: a merge has left values of the item to settle: see vaultfmt_get_conflicts */
    uint32_t lacks_secret;                /* 1: the item shows no secret: the secret was forgotten, is among the values
                                             that are left to settle, or is an earlier value */
    uint32_t reserved;
    int64_t secret_changed;               /* when the secret was last changed or, for an imported item, imported; 0 without
                                             a secret */
} vaultfmt_item;

/* Wipes and frees an item. One thread. */
void vaultfmt_item_free(const vaultfmt_item *item);

/* Finds the item with this key, without its secret. Can return VAULTFMT_NO_SUCH_ITEM and the errors of reading:
   _AUTHENTICATION_FAILED, _STRUCTURE_INVALID, _IO. Any thread. */
vaultfmt_status vaultfmt_find(vaultfmt_vault *vault, const vaultfmt_key *key, const vaultfmt_item **item);

/* Reads the item with this key, including its secret and its attributes of at most 4096 bytes. Can return the same
   errors as vaultfmt_find, and VAULTFMT_LOCKED, _NOT_PERMITTED (a scoped slot without the item's group), _DEVICE_BOUND,
   _NO_SECRET, _UNSUPPORTED_FORM. Any thread. */
vaultfmt_status vaultfmt_get(vaultfmt_vault *vault, const vaultfmt_key *key, const vaultfmt_item **item);

/* Reads the value of one attribute, of any size. Free the value with vaultfmt_value_free. Returns VAULTFMT_OK and
   stores NULL if the item has no attribute with this name. Otherwise, this is like vaultfmt_get. Any thread. */
vaultfmt_status vaultfmt_get_attribute(
    vaultfmt_vault *vault, const vaultfmt_key *key, vaultfmt_bytes name, const vaultfmt_value **value);

#define VAULTFMT_UNSET INT64_MIN

/* The data stored with an item in addition to its secret. */
typedef struct vaultfmt_details {
    uint32_t struct_size;
    uint32_t accessibility;               /* 0 to keep the item's accessibility; for a new item, VAULTFMT_WHEN_UNLOCKED */
    const vaultfmt_attribute *attributes; /* the attributes to set; one with a value of NULL is removed */
    size_t attribute_count;
    uint32_t replaces_attributes;         /* 1: attributes that are not named are removed; 0: they are kept */
    uint32_t reserved;                    /* 0 */
    int64_t created;                      /* VAULTFMT_UNSET to keep the item's date; for a new item, the current time */
    int64_t modified;                     /* VAULTFMT_UNSET: the current time */
} vaultfmt_details;

#define VAULTFMT_DETAILS_INIT {(uint32_t)sizeof(vaultfmt_details), 0, NULL, 0, 0, 0, VAULTFMT_UNSET, VAULTFMT_UNSET}

/* Adds an item. The change is durable when the call returns, except within a transaction. `details` may be NULL. A
   secret can be at most 16 MiB. Returns VAULTFMT_DUPLICATE_ITEM if an item with this key exists. Can also return
   VAULTFMT_LIMIT_EXCEEDED, _DEVICE_BOUND if a device is needed and none was given, and the errors of a commit:
   _READ_ONLY, _LOCKED, _NOT_PERMITTED, _BUSY, _NO_SPACE, _IO, _OUTCOME_UNKNOWN, _DAMAGED_TAIL, _READ_ONLY_EXTENSION.
   Any thread. */
vaultfmt_status vaultfmt_add(vaultfmt_vault *vault, const vaultfmt_key *key, vaultfmt_bytes secret, const vaultfmt_details *details);

/* Adds an item, or replaces its secret and the named attributes. The previous secret, and each sealed attribute that
   changes, become earlier values, if the vault keeps any. Otherwise, this is like vaultfmt_add. Any thread. */
vaultfmt_status vaultfmt_set(vaultfmt_vault *vault, const vaultfmt_key *key, vaultfmt_bytes secret, const vaultfmt_details *details);

/* Changes attributes or accessibility, but not the secret; `created` and `modified` must be VAULTFMT_UNSET. Can return
   VAULTFMT_NO_SUCH_ITEM; otherwise, this is like vaultfmt_add. Any thread. */
vaultfmt_status vaultfmt_update(vaultfmt_vault *vault, const vaultfmt_key *key, const vaultfmt_details *details);

/* Gives an item another key of the same class; the item keeps its id, secret and attributes. Can return
   VAULTFMT_NO_SUCH_ITEM, and _DUPLICATE_ITEM if an item with the new key exists; otherwise, this is like vaultfmt_add.
   Any thread. */
vaultfmt_status vaultfmt_move(vaultfmt_vault *vault, const vaultfmt_key *key, const vaultfmt_key *new_key);

/* Removes an item and its earlier values. Returns VAULTFMT_NO_SUCH_ITEM if there is no such item. The ciphertext remains
   in the file until vaultfmt_compact is called, and in copies of the file. Any thread. */
vaultfmt_status vaultfmt_remove(vaultfmt_vault *vault, const vaultfmt_key *key);

/* ---- Earlier values ----
 *
 * When an item's secret or a sealed attribute is replaced, the vault keeps the previous value of this field, up to a
 * number that is set for each vault; the oldest values of a field are removed first. Only owners can read these values:
 * a scoped slot gets VAULTFMT_NOT_PERMITTED, and a locked vault VAULTFMT_LOCKED.
 */

/* Identifies one of an item's earlier values: the change that set it, and the field that it belongs to. On input, the
   name belongs to the caller; in a vaultfmt_earlier_value, it belongs to that structure and is freed with it. */
typedef struct vaultfmt_earlier_id {
    uint64_t revision;        /* the revision of the change that set the value */
    uint64_t replica;         /* the replica id under which the value was set */
    vaultfmt_bytes attribute; /* the name of the sealed attribute; NULL for the secret */
} vaultfmt_earlier_id;

typedef struct vaultfmt_earlier_value {
    vaultfmt_earlier_id id;
    int64_t replaced;                     /* when the value was replaced; 0 if unknown */
    int64_t modified;                     /* when the value was set; for an imported value, when it was imported */
    const vaultfmt_attribute *attributes; /* for a secret: the item's attributes at that time, except sealed ones, read as
                                             in a vaultfmt_item; for an attribute: none */
    size_t attribute_count;
    size_t unread_attribute_count;
    vaultfmt_bytes secret;                /* the secret, or the value of the sealed attribute; NULL in a list */
    uint32_t flags;                       /* for an attribute: VAULTFMT_ATTRIBUTE_...; for a secret: 0 */
    uint32_t is_device_bound;             /* 1: only `device` can read the value; 0 in a list */
    vaultfmt_bytes group;                 /* the item's access group at that time; NULL in a list */
    uint8_t device[16];                   /* zeros if the value is not bound to a device, and in a list */
} vaultfmt_earlier_value;

/* Wipes and frees an earlier value. One thread. */
void vaultfmt_earlier_value_free(const vaultfmt_earlier_value *value);

typedef struct vaultfmt_earlier_values {
    const vaultfmt_earlier_value *const *values; /* the oldest first */
    size_t count;
} vaultfmt_earlier_values;

/* Frees a list of earlier values. One thread. */
void vaultfmt_earlier_values_free(const vaultfmt_earlier_values *values);

/* Lists the earlier values of an item, without secrets. Can return VAULTFMT_NO_SUCH_ITEM; otherwise, this is like
   vaultfmt_get. Any thread. */
vaultfmt_status vaultfmt_get_earlier_values(
    vaultfmt_vault *vault, const vaultfmt_key *key, const vaultfmt_earlier_values **values);

/* Reads an earlier value: the secret, with its attributes of at most 4096 bytes, or the value of the sealed attribute.
   Returns VAULTFMT_NO_SUCH_ITEM if there is no such item or value. Any thread. */
vaultfmt_status vaultfmt_get_earlier_value(
    vaultfmt_vault *vault, const vaultfmt_key *key, const vaultfmt_earlier_id *id,
    const vaultfmt_earlier_value **value);

/* Reads an attribute that the item had with an earlier secret, like vaultfmt_get_attribute. Earlier values of sealed
   attributes are separate values: use vaultfmt_get_earlier_value for them. Any thread. */
vaultfmt_status vaultfmt_get_earlier_attribute(
    vaultfmt_vault *vault, const vaultfmt_key *key, const vaultfmt_earlier_id *id, vaultfmt_bytes name,
    const vaultfmt_value **value);

/* Restores an item's secret, or a sealed attribute, from an earlier value; other fields of the item do not change. The
   current value becomes an earlier value; the restored one is not listed while it is current, but still counts as one
   of them, so the oldest is dropped if the vault keeps no more. If the item was in another group at that time (`group`
   of vaultfmt_get_earlier_value), scoped slots that could not read the value then can read it now; if the value was
   bound to a device but the item no longer is, every device can read it. Can return VAULTFMT_NO_SUCH_ITEM and the
   errors of a commit. Any thread. */
vaultfmt_status vaultfmt_restore(vaultfmt_vault *vault, const vaultfmt_key *key, const vaultfmt_earlier_id *id);

/* Forgets earlier values of an item: the `count` values in `ids`, or all of them if `ids` is NULL and `count` is 0. No
   copy of the vault can restore them; other values of the field with the same bytes are forgotten too. Their ciphertext
   remains in the file until vaultfmt_compact is called, and in copies of the file. Stores the number forgotten in
   `forgotten`, which may be NULL. Can return VAULTFMT_NO_SUCH_ITEM, in which case no value is forgotten, and the errors
   of a commit. Any thread. */
vaultfmt_status vaultfmt_forget(
    vaultfmt_vault *vault, const vaultfmt_key *key, const vaultfmt_earlier_id *ids, size_t count, size_t *forgotten);

/* An earlier secret to import. */
typedef struct vaultfmt_new_earlier_value {
    uint32_t struct_size;
    uint32_t reserved; /* 0 */
    vaultfmt_bytes secret;
    const vaultfmt_attribute *attributes; /* each with a value; sealed ones become separate earlier values */
    size_t attribute_count;
    int64_t replaced;
    vaultfmt_bytes group; /* the item's access group at that time; NULL for the item's own */
} vaultfmt_new_earlier_value;

#define VAULTFMT_NEW_EARLIER_VALUE_INIT \
    {(uint32_t)sizeof(vaultfmt_new_earlier_value), 0, {NULL, 0}, NULL, 0, 0, {NULL, 0}}

/* Adds earlier secrets, oldest first, to an item; they are listed after the item's existing earlier secrets. Only the
   newest of the given secrets are added, up to the number that the vault keeps; `added`, which may be NULL, receives
   the number added. Can return VAULTFMT_NO_SUCH_ITEM; otherwise, this is like vaultfmt_add. Any thread. */
vaultfmt_status vaultfmt_add_earlier_values(
    vaultfmt_vault *vault, const vaultfmt_key *key, const vaultfmt_new_earlier_value *values, size_t count,
    size_t *added);

/* Sets the number of earlier values that each field of an item keeps, 0 to 50; returns VAULTFMT_LIMIT_EXCEEDED for a
   greater number. Excess values are not listed, and are removed when their item changes. Can return the errors of a
   commit. Any thread. */
vaultfmt_status vaultfmt_keep_versions(vaultfmt_vault *vault, uint32_t count);

/* ---- Transactions ----
 *
 * The changes of a transaction become durable together, in one commit, or not at all. A transaction belongs to the
 * handle on which it was begun and to the thread that began it. Until it ends,
 *   - calls by that thread on that handle to vaultfmt_find, _get, _get_attribute, _add, _set, _update, _move, _remove,
 *     _settle and the functions of "Earlier values" are part of the transaction and see its changes;
 *   - that thread's other calls, and all its calls on other handles for the same open vault (vaultfmt_share), return
 *     VAULTFMT_INVALID_ARGUMENT;
 *   - calls by other threads on any handle for the same open vault wait for at most lock_wait and then return
 *     VAULTFMT_BUSY;
 *   - vaults opened separately, in this or another process, cannot write.
 * A call that fails changes nothing, and the transaction continues. If the transaction's thread has ended, no other
 * thread takes its place, but any thread may commit the transaction or roll it back. A program with several tasks on one
 * thread should give each task its own handle with vaultfmt_share, so that no task joins another's transaction by mistake.
 */

/* Starts a transaction on the newest state. Returns VAULTFMT_INVALID_ARGUMENT if this thread already has one open. Can
   also return VAULTFMT_READ_ONLY, _LOCKED, _NOT_PERMITTED, _BUSY, _IO. Any thread. */
vaultfmt_status vaultfmt_begin(vaultfmt_vault *vault);

/* Commits the transaction, making its changes durable. The transaction ends even if this fails: after an error, nothing
   has changed, unless the error is VAULTFMT_OUTCOME_UNKNOWN, after which the changes may or may not be durable. Returns
   VAULTFMT_INVALID_ARGUMENT if there is no transaction, or while another thread is in a call that is part of it; in
   that case, the transaction continues. Any thread. */
vaultfmt_status vaultfmt_commit(vaultfmt_vault *vault);

/* Discards the transaction's changes. Returns VAULTFMT_INVALID_ARGUMENT in the same cases as vaultfmt_commit. Any
   thread. */
vaultfmt_status vaultfmt_rollback(vaultfmt_vault *vault);

/* ---- Many items ---- */

#define VAULTFMT_ANY (-1)

/* Selects items: each member that is set must match exactly, except that `pattern` matches substrings. */
typedef struct vaultfmt_query {
    uint32_t struct_size;
    uint32_t item_class;        /* 0 for any */
    vaultfmt_bytes service;
    vaultfmt_bytes account;
    vaultfmt_bytes server;
    vaultfmt_bytes protocol;
    vaultfmt_bytes path;
    vaultfmt_bytes group;
    vaultfmt_bytes label;
    vaultfmt_bytes pattern;     /* a substring of service, account, server or label, ignoring case */
    int64_t port;               /* VAULTFMT_ANY for any */
    int32_t synchronizable;     /* 0, 1, or VAULTFMT_ANY */
    uint32_t accessibility;     /* 0 for any */
} vaultfmt_query;

#define VAULTFMT_QUERY_INIT                                                                                                          \
    {(uint32_t)sizeof(vaultfmt_query), 0, {NULL, 0}, {NULL, 0}, {NULL, 0}, {NULL, 0}, {NULL, 0}, {NULL, 0}, {NULL, 0}, {NULL, 0}, \
     VAULTFMT_ANY, VAULTFMT_ANY, 0}

typedef struct vaultfmt_cursor vaultfmt_cursor; /* closed with vaultfmt_cursor_close */

/* Opens a cursor over all matching items, sorted by key, without their secrets. The cursor shows the current state and
   does not see later changes. If `query` is NULL, all items match. Any thread. */
vaultfmt_status vaultfmt_items(vaultfmt_vault *vault, const vaultfmt_query *query, vaultfmt_cursor **cursor);

/* Returns the next item, to be freed with vaultfmt_item_free, or VAULTFMT_OK and NULL after the last one. Can return
   _AUTHENTICATION_FAILED, _STRUCTURE_INVALID, _IO, and _INVALID_ARGUMENT while another thread is in this call with the
   same cursor. Any thread. */
vaultfmt_status vaultfmt_cursor_next(vaultfmt_cursor *cursor, const vaultfmt_item **item);

/* Frees a cursor. One thread. */
void vaultfmt_cursor_close(vaultfmt_cursor *cursor);

/* Receives an item, which is valid only until the function returns. Returns 0 to continue, or any other value to stop. */
typedef int32_t (*vaultfmt_item_function)(void *context, const vaultfmt_item *item);

/* Calls a function with every matching item and its secret, sorted by key, as of the start of the call. This is the
   fastest way to read all secrets. If a secret is refused, secret_status contains the reason; if a secret is damaged,
   the call fails. Returns VAULTFMT_OK even if the function stopped the iteration. The function is called on the
   caller's thread and may use the vault. Any thread. */
vaultfmt_status vaultfmt_each_secret(
    vaultfmt_vault *vault, const vaultfmt_query *query, vaultfmt_item_function function, void *context);

/* ---- Slots ---- */

enum {
    VAULTFMT_FACTOR_PASSPHRASE = 1,
    VAULTFMT_FACTOR_GENERATED_KEY_FILE = 2,
    VAULTFMT_FACTOR_OTHER_KEY_FILE = 4,
    VAULTFMT_FACTOR_RAW_KEY = 8,
    VAULTFMT_FACTOR_EXTERNAL_KEY = 16
};

enum {
    VAULTFMT_SLOT_FULL = 0x01,
    VAULTFMT_SLOT_SCOPED = 0x82
};

typedef struct vaultfmt_slot {
    uint8_t id[16];               /* random; never changes while the slot exists */
    uint32_t kind;                /* VAULTFMT_SLOT_..., or another number for a kind that this version does not know */
    uint32_t factors;             /* VAULTFMT_FACTOR_..., all of which are required; may include unknown bits */
    uint32_t is_known;            /* 0: this version does not know its kind, factors or strength, and preserves it
                                     unchanged */
    uint32_t is_full;             /* 1: the slot grants access to everything */
    uint32_t opened_this;         /* 1: this slot opened the vault */
    uint32_t is_weak;             /* 1: the cost of its key derivation is below the minimum */
    uint32_t kdf_memory;          /* in KiB; 0 if there is no key derivation, or the slot is not known */
    uint32_t kdf_passes;
    uint32_t kdf_lanes;
    uint32_t reserved;
    vaultfmt_bytes provider;      /* the provider of its external key; NULL if it has none */
    vaultfmt_bytes name;          /* NULL unless opened as an owner */
    const vaultfmt_bytes *groups; /* the groups of a scoped slot; NULL for other slots, or unless opened as an owner */
    size_t group_count;
    uint64_t revision;            /* the revision of its last change, excluding grants; 0 in an inspection */
} vaultfmt_slot;

typedef struct vaultfmt_slots {
    const vaultfmt_slot *const *slots; /* in the order of the header */
    size_t count;
} vaultfmt_slots;

/* Returns the vault's slots. Free them with vaultfmt_slots_free. Any thread. */
vaultfmt_status vaultfmt_get_slots(vaultfmt_vault *vault, const vaultfmt_slots **slots);

/* Frees a list of slots. One thread. */
void vaultfmt_slots_free(const vaultfmt_slots *slots);

/* The properties of a slot to be added or changed. */
typedef struct vaultfmt_slot_options {
    uint32_t struct_size;
    uint32_t kdf_memory;          /* in KiB; when changing factors, 0 for all three keeps the slot's cost, or uses the default if it has none */
    uint32_t kdf_passes;
    uint32_t kdf_lanes;
    uint32_t allow_weak_kdf;      /* as in vaultfmt_create_options */
    uint32_t is_scoped;           /* 1: opens only the index and the secrets of `groups`; only for a new slot */
    vaultfmt_bytes name;          /* at most 63 bytes; for a new slot only */
    const vaultfmt_bytes *groups; /* at most 32 */
    size_t group_count;
} vaultfmt_slot_options;

#define VAULTFMT_SLOT_OPTIONS_INIT {(uint32_t)sizeof(vaultfmt_slot_options), 256u << 10, 3, 1, 0, 0, {NULL, 0}, NULL, 0}

/* The results of a change to the slots. */
typedef struct vaultfmt_slot_report {
    uint8_t id[16];                      /* the slot that was added, changed or removed; zeros for a rotation */
    const vaultfmt_slot *const *dropped; /* other slots, dropped because the new keys could not be sealed for them */
    size_t dropped_count;
    const vaultfmt_key *const *kept;     /* items of other devices, whose secrets could not be sealed under new keys */
    size_t kept_count;
} vaultfmt_slot_report;

/* Frees a slot report. One thread. */
void vaultfmt_slot_report_free(const vaultfmt_slot_report *report);

/* Adds a slot and returns its id; a vault can have at most 64 slots. A scoped slot can read the vault from now on, but
   not its earlier states: the keys of the index and the groups are replaced, and the file is rewritten. Groups that do
   not exist are created. `report` may be NULL here and in the following functions. Returns VAULTFMT_INVALID_ARGUMENT
   for factors that already open a slot, and _NOT_PERMITTED unless the vault was opened as an owner. Can also return
   _LIMIT_EXCEEDED, _WEAK_KDF, _KDF_LIMIT (also if readers would no longer try all slots with these kinds of factors),
   _CANNOT_REPLACE, any error of a provider, and the errors of a commit. Any thread. */
vaultfmt_status vaultfmt_slot_add(
    vaultfmt_vault *vault, const vaultfmt_factors *factors, const vaultfmt_slot_options *options, uint8_t id[16],
    const vaultfmt_slot_report **report);

/* Removes a slot. Unless it is a full slot, the keys that it held are also replaced. Anyone who copied the vault key from
   a full slot still has it; only vaultfmt_rotate revokes that key. Can return VAULTFMT_LAST_SLOT, _NO_SUCH_SLOT;
   otherwise, this is like vaultfmt_slot_add. Any thread. */
vaultfmt_status vaultfmt_slot_remove(vaultfmt_vault *vault, const uint8_t id[16], const vaultfmt_slot_report **report);

/* Changes the factors of the slot with this id, or, if `id` is NULL, of the slot that opened the vault. The slot keeps
   its id, name, groups and place in the list; only the cost may be set in `options`. No other data is re-encrypted:
   anyone with an old copy of the file and the old factors can still read later states, until vaultfmt_rotate is called,
   or until a scoped slot is removed or its grants change. Returns VAULTFMT_INVALID_ARGUMENT for a slot that this
   version does not know. Otherwise, this is like vaultfmt_slot_add. Any thread. */
vaultfmt_status vaultfmt_slot_change(
    vaultfmt_vault *vault, const uint8_t *id, const vaultfmt_factors *factors, const vaultfmt_slot_options *options,
    const vaultfmt_slot_report **report);

/* Renames a slot. Returns the same errors as vaultfmt_slot_remove. Any thread. */
vaultfmt_status vaultfmt_slot_rename(vaultfmt_vault *vault, const uint8_t id[16], vaultfmt_bytes name);

/* Replaces the groups that a scoped slot opens; groups that do not exist are created. The keys of groups that the slot
   gains or loses are replaced, and the file is rewritten. Returns VAULTFMT_INVALID_ARGUMENT for a slot that is not
   scoped; otherwise, this is like vaultfmt_slot_remove. Any thread. */
vaultfmt_status vaultfmt_slot_grant(
    vaultfmt_vault *vault, const uint8_t id[16], const vaultfmt_bytes *groups, size_t count,
    const vaultfmt_slot_report **report);

/* A slot with only an external key that a rotation keeps without an identity: the provider's rewrap generates a new key
   for it. */
typedef struct vaultfmt_made_again {
    uint8_t id[16];
    const vaultfmt_provider *provider;
} vaultfmt_made_again;

/* Re-encrypts everything under new keys. The slots that the `kept` factors open are kept, and must include a full slot.
   The slots in `again` are also kept; the provider's rewrap generates new keys for them. All others are dropped. Slots
   with external keys are also rewrapped. Can return VAULTFMT_NO_SLOT_OPENS, _LAST_SLOT, _NO_SUCH_SLOT, and
   _INVALID_ARGUMENT for a slot in `again` that requires other factors or another provider's key; otherwise, this is
   like vaultfmt_slot_add. Any thread. */
vaultfmt_status vaultfmt_rotate(
    vaultfmt_vault *vault, const vaultfmt_factors *kept, size_t count, const vaultfmt_made_again *again,
    size_t again_count,
    const vaultfmt_slot_report **report);

/* ---- Merging ----
 *
 * Copies of one vault that were changed independently are merged item by item and field by field, according to the
 * changes that each copy includes (section 8.1); the result does not depend on the order of merges. If a field was set
 * to two values concurrently, the newer one is shown, and the older one is left to settle. Only owners can merge and
 * settle.
 */

typedef struct vaultfmt_merge_options {
    uint32_t struct_size;
    uint32_t is_rehearsal;     /* 1: the merge is made in memory only, which takes as much memory as the merge would
                                  write; the report is that of the merge. If the system refuses that memory, the error
                                  is VAULTFMT_OUT_OF_MEMORY */
    uint32_t accepts_old_keys; /* 1: values stored under keys that this vault has since replaced are added, as values to
                                  settle or as earlier values. Someone who knew an old passphrase may have written them.
                                  Shown values do not change */
    uint32_t takes_dropped;    /* 1: changes dropped on this machine (vaultfmt_local_accept) are merged again */
} vaultfmt_merge_options;

#define VAULTFMT_MERGE_OPTIONS_INIT {(uint32_t)sizeof(vaultfmt_merge_options), 0, 0, 0}

/* The relation between the two copies. */
enum {
    VAULTFMT_MERGE_SAME = 0,   /* both copies have the same changes; nothing was written */
    VAULTFMT_MERGE_OURS = 1,   /* the vault already has everything in the copy; nothing was written */
    VAULTFMT_MERGE_THEIRS = 2, /* the copy has everything in the vault, and has replaced it */
    VAULTFMT_MERGE_MERGED = 3, /* the copy's changes were merged into the vault */
    VAULTFMT_MERGE_ADOPTED = 4 /* values stored under replaced keys were added */
};

/* Findings of a merge. Those from _CONFLICT to _KEPT_FOR_DEVICE, _SETTLED, _FORGETTING_NOT_CARRIED_OUT and
   _ATTRIBUTES_NOT_REMOVED have a key; those about slots have a slot id, and the slot's name as the text. */
enum {
    VAULTFMT_NOTE_CONFLICT = 1,                /* both copies changed the item; the losing values are left to settle */
    VAULTFMT_NOTE_KEPT_AGAINST_REMOVAL = 2,    /* the item was removed in one copy but changed in the other: kept */
    VAULTFMT_NOTE_RENAMED = 3,                 /* the item now has another key, new_key */
    VAULTFMT_NOTE_WITHOUT_SECRET = 4,          /* the item shows no secret; VAULTFMT_NO_SECRET says why */
    VAULTFMT_NOTE_KEPT_FOR_SPLIT_ID = 5,       /* two writers used one replica id, so the item was kept */
    VAULTFMT_NOTE_EARLIER_VALUES_DROPPED = 6,  /* there was no room for the oldest earlier values */
    VAULTFMT_NOTE_TAKEN_IN_TO_SETTLE = 7,      /* values under old keys were added */
    VAULTFMT_NOTE_REMOVAL_NOT_CARRIED_OUT = 9, /* the item was removed under old keys, so it was kept */
    VAULTFMT_NOTE_KEPT_FOR_DEVICE = 10,        /* another device's item keeps a key that a former holder may have */
    VAULTFMT_NOTE_SLOT_REMOVED = 11,
    VAULTFMT_NOTE_SLOT_TAKEN = 12,             /* a slot of the copy was added */
    VAULTFMT_NOTE_SLOT_CHANGED = 13,           /* the slot has the copy's name and factors */
    VAULTFMT_NOTE_SLOT_CHANGED_IN_BOTH = 14,   /* the later change is in effect: this vault's change if is_ours is 1 */
    VAULTFMT_NOTE_SLOT_LOST_GROUPS = 15,       /* the slot no longer opens the groups */
    VAULTFMT_NOTE_SLOT_GAINED_GROUPS = 16,     /* the slot now opens these additional groups */
    VAULTFMT_NOTE_SLOT_ADDED_AGAIN = 17,       /* no full slot was left, so the slot in use was added again */
    VAULTFMT_NOTE_SLOT_DROPPED = 18,           /* a slot of an unknown kind, for which the new keys cannot be sealed */
    VAULTFMT_NOTE_SLOT_NOT_CARRIED_OUT = 19,   /* added, changed or removed under old keys; the change was not merged */
    VAULTFMT_NOTE_EXTENSION_DIFFERS = 20,      /* the vault's value of an extension, named by the text, was kept */
    VAULTFMT_NOTE_DAMAGED = 21,                /* part of the vault is damaged, as described */
    VAULTFMT_NOTE_COPY_DAMAGED = 22,           /* part of the copy is damaged, as described, and was not merged */
    VAULTFMT_NOTE_SHARED_KEY = 23,             /* two items have the same key; one of them is listed under new_key */
    VAULTFMT_NOTE_SETTLED = 24,                /* the copy has settled the item's conflicts; nothing shown changed */
    VAULTFMT_NOTE_SLOT_READS_MORE = 25,        /* granted the groups in one copy; the other one put values into them */
    VAULTFMT_NOTE_FORGETTING_NOT_CARRIED_OUT = 26, /* values were forgotten under old keys, so they were kept */
    VAULTFMT_NOTE_ATTRIBUTES_NOT_REMOVED = 27, /* attributes were removed under old keys, so they were kept */
    VAULTFMT_NOTE_LIMIT_NOT_CARRIED_OUT = 28,  /* set under old keys: the number of earlier values in the text */
    VAULTFMT_NOTE_SLOTS_OF_BOTH = 29           /* the copies had no full slot in common; those of both were kept */
};

typedef struct vaultfmt_merge_note {
    uint32_t kind;                /* VAULTFMT_NOTE_..., or a number of a later version */
    uint32_t is_ours;
    const vaultfmt_key *key;      /* the item's current key, or its key before the removal; NULL for other notes */
    const vaultfmt_key *new_key;  /* NULL for other notes */
    uint8_t slot[16];
    vaultfmt_bytes text;          /* NULL if there is none */
    const vaultfmt_bytes *groups;
    size_t group_count;
} vaultfmt_merge_note;

typedef struct vaultfmt_merge_report {
    uint32_t outcome;                         /* VAULTFMT_MERGE_... */
    uint32_t is_rehearsal;
    uint32_t has_conflicts;                   /* 1: there are values to settle, or items show no secret any more */
    uint32_t has_damage;                      /* 1: part of the vault is damaged: see the notes */
    const vaultfmt_key *const *added;         /* items that only the copy had */
    size_t added_count;
    const vaultfmt_key *const *changed;       /* items whose shown values changed */
    size_t changed_count;
    const vaultfmt_key *const *supplemented;  /* items with unchanged shown values but new values in their past */
    size_t supplemented_count;
    const vaultfmt_key *const *removed;
    size_t removed_count;
    const vaultfmt_merge_note *const *notes;
    size_t note_count;
} vaultfmt_merge_report;

/* Merges another copy of a vault into the vault, in one commit or not at all; the copy is only read. Open the copy with
   vaultfmt_open, which does not compare it with the state that this machine remembers. If the vault was opened with
   vaultfmt_local_open or vaultfmt_open_unlocked, a copy with changes that were dropped on this machine is refused with
   VAULTFMT_FORKED unless `takes_dropped` is 1. `options` and `report` may be NULL. Returns VAULTFMT_INVALID_ARGUMENT
   for another vault, or within a transaction; _NOT_PERMITTED for a scoped slot; _FOREIGN_OWNER for a copy under
   different keys, unless `accepts_old_keys` is 1; _NO_SLOT_OPENS if the available factors could not open the result.
   Can also return the errors of reading either copy and of a commit. Any thread. */
vaultfmt_status vaultfmt_merge(
    vaultfmt_vault *vault, vaultfmt_vault *other, const vaultfmt_merge_options *options, const vaultfmt_merge_report **report);

/* Frees the report of a merge. One thread. */
void vaultfmt_merge_report_free(const vaultfmt_merge_report *report);

/* The fields of an item: the units that a change sets. */
enum {
    VAULTFMT_FIELD_SECRET = 1,
    VAULTFMT_FIELD_ATTRIBUTE = 2,
    VAULTFMT_FIELD_KEY = 3,  /* the key without its group */
    VAULTFMT_FIELD_PLACE = 4 /* the group, the accessibility and the device */
};

/* Identifies a value that is left to settle: the change that set it, and its field. On input, the name belongs to the
   caller. */
typedef struct vaultfmt_conflict_id {
    uint64_t revision;
    uint64_t replica;
    uint32_t field;           /* VAULTFMT_FIELD_... */
    uint32_t reserved;        /* 0 */
    vaultfmt_bytes attribute; /* the attribute's name; NULL for other fields */
} vaultfmt_conflict_id;

/* The properties that determine the readers of an item. */
typedef struct vaultfmt_place {
    vaultfmt_bytes group;     /* empty for the default group */
    uint32_t accessibility;
    uint32_t is_device_bound;
    uint8_t device[16];
} vaultfmt_place;

/* A value that an item does not show, because another value was set later, or concurrently in another copy. */
typedef struct vaultfmt_conflict_value {
    vaultfmt_conflict_id id;
    uint32_t flags;              /* for an attribute: VAULTFMT_ATTRIBUTE_... */
    uint32_t reserved;
    int64_t time;                /* when the value was set */
    vaultfmt_bytes value;        /* for a secret or an attribute; NULL if it cannot be read here */
    const vaultfmt_key *key;     /* for the field KEY: the item's key in the default group; otherwise NULL */
    /* For the field PLACE: the value. For a secret or a sealed attribute: the place where the value was set, if the item
       is now in another place, where other people may be able to read a kept value. Otherwise NULL. */
    const vaultfmt_place *place;
} vaultfmt_conflict_value;

typedef struct vaultfmt_conflict {
    uint8_t item[16];
    vaultfmt_key key;
    vaultfmt_place place;
    const vaultfmt_conflict_value *const *values; /* sorted by field and then from the oldest to the newest */
    size_t count;
} vaultfmt_conflict;

typedef struct vaultfmt_conflicts {
    const vaultfmt_conflict *const *conflicts; /* sorted by key */
    size_t count;
} vaultfmt_conflicts;

/* Returns all conflicts that merges have left, with their values. Free the result with vaultfmt_conflicts_free. Can
   return VAULTFMT_NOT_PERMITTED for a scoped slot, _LOCKED, and the errors of reading. Any thread. */
vaultfmt_status vaultfmt_get_conflicts(vaultfmt_vault *vault, const vaultfmt_conflicts **conflicts);

/* Wipes and frees a list of conflicts. One thread. */
void vaultfmt_conflicts_free(const vaultfmt_conflicts *conflicts);

/* Settles the conflicts of an item: each field keeps only the value in `keep` or, if there is none, the shown value.
   `keep` may be NULL if `count` is 0. Losing secrets and sealed attributes become earlier values. A kept value moves to
   the item's place, regardless of its own place: ask the user before other people can read it. Does nothing if there
   are no conflicts and `count` is 0. Returns VAULTFMT_NO_SUCH_ITEM if the item or a value does not exist,
   _INVALID_ARGUMENT if two values are given for the same field, _DUPLICATE_ITEM if another item has the kept key, and
   _DEVICE_BOUND for a value that cannot be read here. Can also return the errors of a commit. Part of the thread's
   transaction, if there is one. Any thread. */
vaultfmt_status vaultfmt_settle(
    vaultfmt_vault *vault, const vaultfmt_key *key, const vaultfmt_conflict_id *keep, size_t count);

/* ---- Maintenance ---- */

/* Rewrites the file without dead data. Stores its length before and after; both pointers may be NULL. Can return
   VAULTFMT_CANNOT_REPLACE and the errors of a commit. Any thread. */
vaultfmt_status vaultfmt_compact(vaultfmt_vault *vault, uint64_t *before, uint64_t *after);

/* Copies a damaged tail (VAULTFMT_TAIL_DAMAGED) to a file next to the vault, FILE.damaged-G, where G is the generation
   after the newest one, and truncates the vault, which can then be changed again. Returns the path of that file, to be
   freed with vaultfmt_value_free, or NULL if the tail was not damaged. Can return VAULTFMT_LIMIT_EXCEEDED for a tail that
   is longer than both the vault and 64 MiB, and the errors of a commit. Any thread. */
vaultfmt_status vaultfmt_repair(vaultfmt_vault *vault, const vaultfmt_value **kept);

typedef struct vaultfmt_problem {
    vaultfmt_bytes what;
    uint64_t offset;
    uint32_t has_offset;
    uint32_t reserved;
} vaultfmt_problem;

typedef struct vaultfmt_report {
    uint32_t is_sound;                  /* 1: every byte was authenticated, and no problem was found */
    uint32_t reserved;
    uint64_t items;                     /* in the newest state */
    uint64_t objects;                   /* the number of objects that were authenticated */
    uint64_t unopened;                  /* objects that could not be checked, because this slot and device do not have their keys */
    uint64_t problem_count;
    const vaultfmt_problem *problems;   /* the first 1000 problems */
    size_t listed_problems;
    uint64_t items_with_past;           /* items that have earlier values, or values that are left to settle */
    uint64_t forgotten_values;          /* listed in the newest state */
} vaultfmt_report;

/* Authenticates every byte of every object. Damage is listed in the report, to be freed with vaultfmt_report_free, and
   is not an error of this call. Can return VAULTFMT_LOCKED, _IO. Any thread. */
vaultfmt_status vaultfmt_verify(vaultfmt_vault *vault, const vaultfmt_report **report);

/* Frees a report. One thread. */
void vaultfmt_report_free(const vaultfmt_report *report);

/* ---- What a file reveals without a key ---- */

typedef struct vaultfmt_objects {
    vaultfmt_bytes type; /* record, page, past, keyring, vector or commit */
    uint64_t count;
    uint64_t bytes;
} vaultfmt_objects;

typedef struct vaultfmt_extension {
    vaultfmt_bytes name;
    uint64_t size;
    uint32_t is_critical;  /* 1: readers must know it */
    uint32_t is_read_only; /* 1: writers must know it */
} vaultfmt_extension;

typedef struct vaultfmt_inspection {
    uint32_t format_version;
    uint32_t tail;                        /* VAULTFMT_TAIL_..., as far as it can be determined without a key */
    uint64_t tail_size;
    uint8_t vault_id[16];
    uint64_t header_bytes;
    uint64_t file_bytes;
    const vaultfmt_slot *const *slots;    /* without names and groups */
    size_t slot_count;
    const vaultfmt_extension *extensions;
    size_t extension_count;
    const vaultfmt_objects *objects;      /* by type; types without any objects are omitted */
    size_t object_type_count;
} vaultfmt_inspection;

/* Reads the information that a file reveals without a key. Free the result with vaultfmt_inspection_free. None of it is
   authenticated. Can return VAULTFMT_NO_SUCH_FILE, _NOT_A_VAULT, _UNSUPPORTED_VERSION, _UNSUPPORTED_CRITICAL,
   _HEADER_INVALID, _IO. Any thread. */
vaultfmt_status vaultfmt_inspect(const char *path, const vaultfmt_inspection **inspection);

/* Frees an inspection. One thread. */
void vaultfmt_inspection_free(const vaultfmt_inspection *inspection);

#ifdef __cplusplus
}
#endif
#endif
