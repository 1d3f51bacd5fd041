internal import Glibc

/// Writes whole lines to standard output at once: several threads print, and a log is read while it grows.
func report(_ line: String) {
    var line = line + "\n"
    line.withUTF8 { bytes in _ = write(1, bytes.baseAddress, bytes.count) }
}
