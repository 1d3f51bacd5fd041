internal import VaultBytes

/// An identity that opens slots of the provider `age` (section 9.3): two of each type, since a vector needs one that
/// opens nothing.
package struct AgeIdentity: Sendable {
    enum Kind: Sendable {
        case x25519
        case hybrid(HybridSample)
        case ssh
    }

    let kind: Kind
    /// As requests have it.
    let text: String
    /// A scalar, or a seed.
    let key: [UInt8]

    static let x25519 = AgeIdentity(
        kind: .x25519, text: "AGE-SECRET-KEY-1G9Q5ZS2PG9Q5ZS2PG9Q5ZS2PG9Q5ZS2PG9Q5ZS2PG9Q5ZS2PG9QSC006VW",
        key: [0x41].times(32))
    /// The one of C2SP age.md.
    static let x25519Other = AgeIdentity(
        kind: .x25519, text: "AGE-SECRET-KEY-1GFPYYSJZGFPYYSJZGFPYYSJZGFPYYSJZGFPYYSJZGFPYYSJZGFPQ4EGAEX",
        key: [0x42].times(32))
    static let hybrid = AgeIdentity(
        kind: .hybrid(.first), text: "AGE-SECRET-KEY-PQ-129G4Z52329G4Z52329G4Z52329G4Z52329G4Z52329G4Z52329GSUX6V72",
        key: [0x51].times(32))
    static let hybridOther = AgeIdentity(
        kind: .hybrid(.second), text: "AGE-SECRET-KEY-PQ-12FF9Y5JJ2FF9Y5JJ2FF9Y5JJ2FF9Y5JJ2FF9Y5JJ2FF9Y5JJ2FFQ3SATTZ",
        key: [0x52].times(32))
    static let ssh = AgeIdentity(seed: [0x61].times(32))
    static let sshOther = AgeIdentity(seed: [0x62].times(32))
    static let all: [AgeIdentity] = [x25519, x25519Other, hybrid, hybridOther, ssh, sshOther]

    private init(kind: Kind, text: String, key: [UInt8]) {
        self.kind = kind
        self.text = text
        self.key = key
    }

    private init(seed: [UInt8]) { self.init(kind: .ssh, text: Self.sshPrefix + Hex.encode(seed), key: seed) }

    private static let sshPrefix = "ssh-ed25519:"

    /// The seed of a text `ssh-ed25519:` and 64 hexadecimal digits; nil for other texts.
    package static func sshSeed(_ text: String) -> [UInt8]? {
        guard text.hasPrefix(sshPrefix), let seed = Hex.decode(text.dropFirst(sshPrefix.count)), seed.count == 32 else {
            return nil
        }
        return seed
    }

    /// A stanza that wraps a file key for this identity.
    func stanza(_ fileKey: [UInt8] = AgeStanza.fileKey) -> AgeStanza {
        switch kind {
        case .x25519, .ssh: ShareRecipe(to: self, fileKey).stanza
        case .hybrid(let sample): sample.stanza(fileKey)
        }
    }

    /// The file key of a stanza, as have it; nil if there is none for this identity.
    func open(_ stanza: AgeStanza) -> [UInt8]? {
        guard stanza.body.count == 32 else { return nil }
        switch kind {
        case .hybrid(let sample):
            guard stanza.arguments == sample.arguments else { return nil }
            return AgePlain.open(stanza.body, sample.key, sample.nonce)
        case .x25519, .ssh:
            guard let recipe = ShareRecipe(of: stanza, with: self) else { return nil }
            return AgePlain.open(stanza.body, recipe.key, recipe.nonce)
        }
    }
}

/// An encapsulation for a hybrid identity, and the key and nonce that HPKE derives from it.
///
/// They are from the reference (`age.wrap_hybrid` with 32 bytes of 1, then 32 of 2, as randomness, which
/// `test_age.py` repeats): swift-crypto cannot be given randomness, and vectors are the same bytes each time. So the
/// maker of vectors opens no other hybrid stanza, and does not need to.
struct HybridSample: Sendable {
    /// 1120 bytes in base64.
    let encapsulated: String
    let key: [UInt8]
    let nonce: [UInt8]

    private init(key: String, nonce: String, _ encapsulated: String) {
        self.encapsulated = encapsulated
        self.key = Hex.decode(key) ?? []
        self.nonce = Hex.decode(nonce) ?? []
    }

    var arguments: [String] { ["mlkem768x25519", encapsulated] }

    func stanza(_ fileKey: [UInt8]) -> AgeStanza {
        AgeStanza(arguments, AgePlain.seal(fileKey, key, nonce))
    }

    /// `first` with a share of order 8, and the key that a secret of zeros results in: a reader must not get so far.
    static let smallOrder: HybridSample = {
        var share = AgePlain.bytes(base64: Array(first.encapsulated.utf8)) ?? []
        share.replaceSubrange(
            1088..., with: Hex.decode("5f9c95bca3508c24b1d0b1559c83ef5b04445cc4581c8e86d8224eddd09f11d7") ?? [])
        return HybridSample(
            key: "be8a3d42fdd7e0d147efdbaf51472bca02c44cbca77fc7af5dcb1f5e02e3cabb",
            nonce: "e47601d2c78103011d5db74b", AgePlain.base64(share))
    }()

    static let first = HybridSample(
        key: "0c20f526a40416b27c34a2484317f1fd865b16f28aee6b4960a4372a069e60e4",
        nonce: "7de424cd91f842ece4297afc",
        """
        QF56doGJ8HdKiXaUT8jSAjtXgamgjDoxxjpVnFlgNl6NDIqD5p2nd3PVYBrfF/8zzqN16C8E74FGN8XV9WGCSRnhvPAPZ3l1u3H/BJvB\
        EB43j3RCtutL+yof29jGrqv4TaqtZj+/FOVc/uGfgnm8QMRDzYue2yCYeFLhZLeN7SBd3eyTgDuBJ0TS0TvQya0CYoq2bBn+hEdif5kR\
        IXGP2jLcXOlLiIWIwWs9Z/A1BlFGQgBwcvREplLk+DKYCKd/9AsCgTeLB3XS4gG3redJSGU+YTE6+UaKABXtISI5vrNtAiGl130sTXB4\
        u6nvtsIjWtmZtFRYm1MLnWcYkrJCYPJEoSpIi8utG4nrIkQAR4RGkG0iimCuu6QX3mIzkPKi+M7Ih0Z9lBMVeJQeOX0PdEqQsqnDrU9W\
        VaxnINZAkx92zwi+o5Y/hVNcqQyt7hq9bddMUFXXRJUW9FN3RRfQ1NzgPxQCNd6nN5v5z36l/EAl9h+FsrePg+d8ddCeDpXiom8JVVAj\
        QRYiZb7KYizEVCEgOVjhZJsikd+vzjCJ+TXFLmdD9tV9kuZM5NPT0YEAx9xbHezdFtwlSVjng6peYiaXyKC6nurrEY/lUcc0d53SKvXX\
        VPZqBGzrwDmwe1RJ+BF/4xKPAFu5tHmdhq+63IzueApjjU/ePe9fpwUhBwgFdERx51Vih2xkTz3klmFRCJvmayidtNJeJ2n8Rmiftwua\
        ipSTtJDF41kzTHmoAK9TQ/3+JyWmg4jS56x3ZiIaa+DqnQxmVOwUxOKhGDD/QV2REmpvYnv6xfQ0XY8TLVSgA+EywUwXyXY1Y0sYZe9N\
        3i2wkRx7e0gqQAIYpQJMVyBJQxkFiH8klOBe6i5+BZwQorPt6Gp6GzS7dsF0RL/GAWbLjzL93mbrq2C4Gtox1wRBf3z4WR5gamaaHaeS\
        8Pa1zAOLJ74S3dWzcuwrFFChlqlNoZWM++4rGYhnoRg+6uV8xQTw7Y0r7rkazsR2/1ORtwkKHUkI5kq8WlH2Vjpp/7hvpJYLZ/uEByZu\
        Nnjy1ujEmfH0ZN6Ar9u6EaxwzcAqQuyzJ4A4g4Eot+sI2WZnRy9GOuGK4t+J63arZJdzLi1ckPsmk9LfW/OSEGOqysCGVEYXjaYlZjq6\
        HH8mOZXZkHMsfZnAVw9a+naQzBF3h/wt+apCNCYSgtJ9xopGjxlryzBn4zJ5uUlTZxXzlkc8q4PMV3AKAOesVjqeH1r0sqfOrGXPSHdU\
        utAmnW9GH8p1fHY7QN7wOHIpggw5AyYg9cDnPTu/t0i2Vn4ooWayJZHDi/706MOzfTfR9TH1x5sM3nALLTq+RRlUHFgWyXyy8HkBOBeH\
        M4hes69b3adcDY+C/dsGegtVNorRsz4+J/jQpA7M6bh9z7ZyidvxlAQ7MjLu6TtHk42qjhjNpF7cOhn9fWcjRBeUUcCVj/VTGYDOjTrR\
        zLYz7HtwwXgUpcduzQKWhQUNNEdFugWHDlh9WQ
        """)
    static let second = HybridSample(
        key: "714795688ad8f045ac509df6c766f25df4c00c7bfcaa5287c47c6745d5817579",
        nonce: "12e531e2924aca41c3b0f9a1",
        """
        ZY0YYYUOG7MIPg7YA+SiwWexz5Gv6VtPbpOruCuTg17vuJheYWMAtmVgIoyvCFYWYGVTicsKHNKHW7mWkr5UOHXypafipTWs3grSXCYm\
        Qqcf27JbblPhEwJkHw78DfOOwPoHoq5MXb/1ggPF1M1LB7urA2WW6PCv7TVHR9yw9ZwpNmwE77Ml8Z4LONIIKXP+6IgURVH6SRsZz7AO\
        x+O/GK149yqfJAtQu4UP+xQ9MwJFhOJvflDWQZqj7ekA/jOprLj6N94cTGQbeZ771z8hkuGh4h5tyexWHD5iOE4ah2tgW/OXChF8mHLG\
        KpcN6vvmkp0K7cSSXKm17GcVNAdgbaW3eWDXjgSZZVA2JVLDi4wSFCf1byDWknYtxT2CC21PGvCo+t/Lfuvdfb4TWBFKGqlFugH9vRMM\
        N0CNGs7wKIPff0sDlzCGbr1QiitWGgVd1rc7p9t2WpH4Pf3uaX4aI7e19FTbVV5npyibi5toIF+/F1Ul+wtzcJ0D2XxF1Xj748u16unD\
        a7OcPu6prSG93A1u+h+IFiU4iOsbcICaNTZTzIEVCwPQncN52wE7YlkpZIY88BlVskMWU+lUw0eCUGOR8dZ4rEid2Vsmp5BBKZjSXuCC\
        0sfg5wCTY51xYganMDtIUqLpaoAM/JfUIEBAlexyl9Rt0TEBHebMEp8zLrWvh48Sz8PQ1uXIvK8NvokbUJQKxY1U0T99NHCNuJId9TZ8\
        5Pgqvq8jtqLUjIm+iXUPb7pbFj1Shfue5jupdNjl9AzZtoKQ0gPeXx1+yNJJA4scxuWoq+T6O1GnKvKYZavr/zOp5TBow+Y5PMVV0ZXJ\
        yNXkUflJc+hXyDRPRNd9meqQOWXWmXwZOTG5v+VBmtQcE1FsOQV5sv1xCeSP5TxbT3Ufom47iHaNDwQEb1hzRoJweSGsPJcALMEFTynh\
        XqFv8TunF9BCGv9gLghGmuLKYQ3SE27isBYkjhLz4fUa9S/9IOqiKWoTbred60x9Mzs9AowfFJMrcBdHKIViuqjH9TMmtZna4Y97VX9l\
        YlVbTFtmJvFL/t67CZk2HF/azvRCoOnKAFR+m/AaIHFKvkg3Q8MLKmTsUR+HF7xbA5gD3hySMZnimNktwmE/PDO8/s6da45JrAtVUjye\
        cr2QdmuvuHx0KxwhTqRar8xt27IoT/A2/ekhP/C0xFin39CMGXDP52xR7OJeTmkIKxSxSCJ8IfDwmrv/J5HjE//JmTDblyQXA5xpYTxH\
        p//lqOUSSxWWxqsYGjC2Qd92q0p8DPZlz5bCBGrlxkpavUSwqWXsjVHecMMxZQCphcnkwOp6++H5Yqj/GLdI7sal7k66r+v4TDOkbBrO\
        ribom32usNMnbuOramdjww0WXCBAEbgGhV3UqanqXglM8ihW0J7VTsxVWCPL1Z3pOL8C/DoqXylTxqEi/34q5UlomFH+MKG9SjvOjTrR\
        zLYz7HtwwXgUpcduzQKWhQUNNEdFugWHDlh9WQ
        """)
}
