/* The vault: opens, closes and describes a vault (section 7.1). */
#include "internal.h"

#include <string.h>

static const char *const names[] = {
    "ok",
    "end",
    "not-a-vault",
    "unsupported-version",
    "header-invalid",
    "unsupported-critical",
    "no-slot-opens",
    "kdf-limit",
    "foreign",
    "authentication-failed",
    "structure-invalid",
    "unsupported-form",
    "device-bound",
    "no-key",
    "no-secret",
    "not-found",
    "out-of-budget",
    "io",
    "invalid-argument",
    "crypto-failed",
};

const char *vfr_status_name(vfr_status status) {
    size_t index = (size_t)status;
    return index < sizeof names / sizeof *names ? names[index] : "unknown";
}

/* Fills in the defaults of a policy. */
static vfr_kdf_policy complete(const vfr_kdf_policy *given) {
    return (vfr_kdf_policy){
        .memory = given->memory != 0 ? given->memory : 2097152,
        .passes = given->passes != 0 ? given->passes : 16,
        .lanes = given->lanes != 0 ? given->lanes : 16,
        .total = given->total != 0 ? given->total : 16777216,
    };
}

/* Opens a slot, and checks the header with its keys, before searching for a
 * commit. */
static vfr_status unlock(vfr_vault *vault, const vfr_options *options, const vfr_factors *given, vfr_failure *failure) {
    vfri_factors factors = {0};
    vfr_kdf_policy policy = complete(&options->policy);
    vfr_status status = vfri_check_factors(given, &factors);
    if (status == VFR_OK) status = vfri_open_slot(vault, given, &factors, &policy, failure);
    vfri_wipe(&factors, sizeof factors);
    if (status != VFR_OK) return status;
    if (!vfri_header_is_authentic(vault)) return VFR_AUTHENTICATION_FAILED;
    if (options->owner != NULL && memcmp(options->owner, vault->keys.owner_public, 32) != 0) return VFR_FOREIGN;
    if (options->device != NULL) {
        vault->has_device = true;
        memcpy(vault->device_id, options->device->id, 16);
        vfri_derive(vault->device_key, options->device->secret, "vaultfmt-1 device", vault->id, 16);
    }
    return VFR_OK;
}

/* Creates a vault for which only the header has been read. */
static vfr_status start(const vfr_source *source, const vfr_options *options, vfr_vault **out, vfr_failure *failure) {
    memset(failure, 0, sizeof *failure);
    *out = NULL;
    bool half = (options->allocator.allocate == NULL) != (options->allocator.release == NULL);
    if (source->read == NULL || half) return VFR_INVALID_ARGUMENT;
    if (!vfri_crypto_start()) return VFR_CRYPTO_FAILED;
    vfri_memory memory = {.allocator = options->allocator, .budget = options->budget};
    vfr_vault *vault = vfri_allocate(&memory, sizeof *vault);
    if (vault == NULL) return VFR_OUT_OF_BUDGET;
    vault->memory = memory;
    vault->source = *source;
    *out = vault;
    return vfri_read_header(vault, options, failure);
}

vfr_status vfr_open(const vfr_source *source, const vfr_options *options, const vfr_factors *factors, vfr_vault **out,
                    vfr_failure *failure) {
    vfr_failure unused;
    if (failure == NULL) failure = &unused;
    vfr_status status = start(source, options, out, failure);
    if (status == VFR_OK) status = unlock(*out, options, factors, failure);
    if (status == VFR_OK) status = vfri_find_state(*out, options->writer_active);
    if (status == VFR_OK) status = vfri_read_keyring(*out, options, failure);
    if (status != VFR_OK) {
        vfr_close(*out);
        *out = NULL;
    }
    return status;
}

void vfr_close(vfr_vault *vault) {
    if (vault == NULL) return;
    vfri_release_rows(vault, &vault->rows);
    vfri_memory memory = vault->memory; /* the vault itself is released last */
    vfri_release(&memory, vault->keyring.frame);
    vfri_release(&memory, vault->keyring.groups);
    vfri_release(&memory, vault->keyring.compartments);
    vfri_release(&memory, vault->keyring.grants);
    vfri_release(&memory, vault->header);
    vfri_release(&memory, vault);
}

/* A header is a vault for which only the header has been read. A separate type prevents its use as a vault. */
struct vfr_header {
    vfr_vault vault;
};

vfr_status vfr_header_open(const vfr_source *source, const vfr_options *options, vfr_header **out,
                           vfr_failure *failure) {
    vfr_failure unused;
    vfr_vault *vault;
    vfr_status status = start(source, options, &vault, failure != NULL ? failure : &unused);
    if (status != VFR_OK) {
        vfr_close(vault);
        vault = NULL;
    }
    *out = (vfr_header *)(void *)vault;
    return status;
}

void vfr_header_id(const vfr_header *header, uint8_t id[16]) {
    memcpy(id, header->vault.id, 16);
}

vfr_status vfr_header_slot(const vfr_header *header, size_t index, vfr_slot *slot) {
    return vfr_get_slot(&header->vault, index, slot);
}

vfr_status vfr_header_extension(const vfr_header *header, size_t index, vfr_extension *extension) {
    return vfr_get_header_extension(&header->vault, index, extension);
}

void vfr_header_close(vfr_header *header) {
    if (header != NULL) vfr_close(&header->vault);
}

void vfr_get_state(const vfr_vault *vault, vfr_state *state) {
    const vfri_commit *commit = &vault->commit;
    *state = (vfr_state){
        .full = vault->keys.full,
        .tail = vault->tail,
        .generation = commit->generation,
        .previous_generation = commit->previous_generation,
        .clock = commit->clock,
        .floor = commit->floor,
        .own_replica = commit->own_replica,
        .own_revision = commit->own_revision,
        .items = commit->items,
        .forgotten = commit->forgotten,
        .pasts = commit->pasts,
        .live_bytes = commit->live_bytes,
    };
    memcpy(state->vault_id, vault->id, 16);
    memcpy(state->owner, vault->keys.owner_public, 32);
    memcpy(state->slot_id, vault->slots[vault->opened_slot].bytes + 4, 16);
    memcpy(state->chain, commit->chain, 32);
    memcpy(state->previous_chain, commit->previous_chain, 32);
}
