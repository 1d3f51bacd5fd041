public import Foundation
internal import KeychainCore

/// Apple's type of status codes.
public typealias OSStatus = Int32

// swift-format-ignore: AlwaysUseLowerCamelCase
/// Returns the sentence for a status code, or nil if Apple does not define the code. `reserved` must be nil, as on
/// Apple platforms.
public func SecCopyErrorMessageString(_ status: OSStatus, _ reserved: UnsafeMutableRawPointer?) -> CFString? {
    StatusText.sentence(status).map { $0 as CFString }
}
