/// Names of fields that indicate a secret value.
package enum SecretName {
    /// Returns whether the name indicates a secret value, for managers that do not record which fields are hidden.
    /// A value that is sealed unnecessarily can still be read; a value that is not sealed is stored in the index.
    package static func isSecret(_ name: String) -> Bool {
        let name = name.lowercased()
        let words = name.split { !$0.isLetter && !$0.isNumber }.map(String.init)
        let spaced = words.joined(separator: " ")
        return secretParts.contains { name.contains($0) || spaced.contains($0) }
            || words.contains(where: secretWords.contains) || secretWords.contains(words.joined())
    }

    private static let secretParts =
        [
            "password", "passphrase", "passwd", "passcode", "secret", "private key", "privatekey", "api key",
            "apikey", "access key", "recovery", "backup code", "backupcode", "security code", "security answer",
            "one-time", "one time", "authenticator", "memorable", "card number", "cardnumber", "account number",
            "webhook", "seed phrase", "wiederherstellung", "sicherheitsantwort", "récupération", "recuperación",
            "recuperação", "recupero", "herstelcode", "maiden name", "maidenname", "mädchenname",
            "nom de jeune fille", "apellido de soltera", "cognome da nubile", "meisjesnaam",
        ] + passwordWords
    private static let secretWords: Set<String> = [
        "pass", "pwd", "pw", "pin", "puk", "token", "otp", "totp", "hotp", "2fa", "mfa", "tfa", "cvv", "cvv2",
        "cvc", "cvc2", "csc", "ssn", "seed", "mnemonic", "jwt", "iban", "clave", "pwort", "kode", "sandi",
    ]

    /// Words for a password in other languages, in lower case.
    static let passwordWords = [
        "kennwort", "passwort", "losung", "mot de passe", "motdepasse", "contraseña", "contrasena", "senha",
        "palavra-passe", "parola d'ordine", "parola chiave", "wachtwoord", "adgangskode", "passord", "lösenord",
        "losenord", "salasana", "hasło", "haslo", "heslo", "geslo", "lozinka", "jelszó", "jelszo", "parolă",
        "parola", "şifre", "sifre", "slaptažodis", "parole", "parool", "пароль", "парола", "лозинка",
        "κωδικός", "סיסמה", "كلمة المرور", "كلمة السر", "گذرواژه", "पासवर्ड", "รหัสผ่าน", "mật khẩu",
        "kata sandi", "パスワード", "暗証番号", "密码", "密碼", "비밀번호", "암호",
    ]
}
