import Glibc
import SwiftASN1

/// The end of an X.509 certificate's validity, which is read from the certificate's structure regardless of the key
/// type.
enum CertificateExpiry {
    private struct Malformed: Error {}

    /// Returns the end in milliseconds since 1970; nil if the bytes are not a certificate.
    static func milliseconds(_ der: [UInt8]) -> Int64? {
        do {
            return try DER.sequence(DER.parse(der), identifier: .sequence) { nodes in
                guard let body = nodes.next() else { throw Malformed() }
                while nodes.next() != nil {}
                return try DER.sequence(body, identifier: .sequence) { nodes in
                    let end = try validity(&nodes)
                    while nodes.next() != nil {}
                    return end
                }
            }
        } catch {
            // The item was stored as a certificate but is not one; the import has reported this.
            return nil
        }
    }

    /// Version, serial number, signature algorithm and issuer come first.
    private static func validity(_ nodes: inout ASN1NodeCollection.Iterator) throws -> Int64 {
        _ = try DER.optionalExplicitlyTagged(&nodes, tagNumber: 0, tagClass: .contextSpecific) {
            try Int(derEncoded: $0)
        }
        for _ in 0..<3 where nodes.next() == nil { throw Malformed() }
        guard let validity = nodes.next() else { throw Malformed() }
        return try DER.sequence(validity, identifier: .sequence) { nodes in
            guard nodes.next() != nil, let end = nodes.next() else { throw Malformed() }
            if end.identifier == .utcTime {
                let time = try UTCTime(derEncoded: end)
                return milliseconds(time.year, time.month, time.day, time.hours, time.minutes, time.seconds)
            }
            let time = try GeneralizedTime(derEncoded: end)
            return milliseconds(time.year, time.month, time.day, time.hours, time.minutes, time.seconds)
        }
    }

    private static func milliseconds(
        _ year: Int, _ month: Int, _ day: Int, _ hours: Int, _ minutes: Int, _ seconds: Int
    ) -> Int64 {
        var calendar = tm()
        calendar.tm_year = Int32(clamping: year - 1900)
        calendar.tm_mon = Int32(clamping: month - 1)
        calendar.tm_mday = Int32(clamping: day)
        calendar.tm_hour = Int32(clamping: hours)
        calendar.tm_min = Int32(clamping: minutes)
        calendar.tm_sec = Int32(clamping: seconds)
        return Int64(timegm(&calendar)) * 1000
    }
}
