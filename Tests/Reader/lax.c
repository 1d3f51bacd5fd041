/* Stands in for a libsodium whose verification accepts everything, and that finds no point valid: what demands is
 * then up to crypto.c alone. */
int lax_verify_detached(const unsigned char *signature, const unsigned char *message, unsigned long long count,
                        const unsigned char *key);
int lax_is_valid_point(const unsigned char *point);

int lax_verify_detached(const unsigned char *signature, const unsigned char *message, unsigned long long count,
                        const unsigned char *key) {
    (void)signature;
    (void)message;
    (void)count;
    (void)key;
    return 0;
}

int lax_is_valid_point(const unsigned char *point) {
    (void)point;
    return 0;
}
