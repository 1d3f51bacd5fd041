import VaultConsole
import VaultFmt
import VaultLocal

/// Reads the `otpauth:` address from an image of a QR code, using `zbarimg` if that program is installed.
enum QRImage {
    static func address(in path: String) throws -> Secret {
        guard try UserFiles.exists(path) else {
            throw CommandFailure(.noSuchFile, "there is no image \(TerminalText.path(path)); check the path")
        }
        guard let program = Subprocess.find("zbarimg") else {
            throw CommandFailure(
                .unavailable,
                "reading a QR code requires zbarimg; install the Debian package 'zbar-tools', or enter the address with --otp"
            )
        }
        // A name that begins with a dash would be interpreted as an option.
        let file = path.hasPrefix("/") ? path : "./" + path
        let found = try Subprocess.read(program, ["--quiet", "--raw", file], limit: 1 << 20)
        return try single(found ?? Secret(count: 0), path)
    }

    /// Returns the only address among the codes that were found; `found` contains one code per line.
    private static func single(_ found: borrowing Secret, _ path: String) throws -> Secret {
        let name = TerminalText.path(path)
        return try found.withUnsafeBytes { bytes in
            let lines = bytes.split(separator: 0x0A).filter { $0.starts(with: Array("otpauth".utf8)) }
            guard let first = lines.first else {
                throw CommandFailure(
                    .usage, "\(name) shows no QR code with an otpauth: address; take a sharper picture")
            }
            guard lines.allSatisfy({ $0.elementsEqual(first) }) else {
                throw CommandFailure(
                    .usage, "\(name) shows several QR codes for one-time codes; crop the image to one of them")
            }
            return Secret(copying: UnsafeRawBufferPointer(rebasing: first))
        }
    }
}
