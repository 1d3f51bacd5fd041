public import Foundation

// Core Foundation's names for the types in dictionaries. On Linux, Core Foundation cannot be imported. These are the
// classes it is toll-free bridged with, so that `as CFDictionary` of any dictionary, `as String` of a constant,
// `[String: AnyObject]` and `kCFBooleanTrue` compile and have the same meaning as on Apple platforms.

/// A string.
public typealias CFString = NSString
/// A dictionary of attributes, or a query: any `[String: Any]`, `[CFString: Any]` or `NSDictionary`, converted with `as
/// CFDictionary`.
public typealias CFDictionary = NSDictionary
/// A mutable dictionary.
public typealias CFMutableDictionary = NSMutableDictionary
/// Several results.
public typealias CFArray = NSArray
/// Any result.
public typealias CFTypeRef = AnyObject
/// True or false.
public typealias CFBoolean = NSNumber
/// A number.
public typealias CFNumber = NSNumber
/// A date.
public typealias CFDate = NSDate
/// Bytes.
public typealias CFData = NSData
/// An error.
public typealias CFError = NSError

/// Apple's type for allocators. The only one here is the default, which is nil.
public final class CFAllocator: Sendable {
    private init() {}
}

// Apple declares them this way, and code unwraps them.
// swift-format-ignore
/// The default allocator: nil, as on Apple platforms.
public let kCFAllocatorDefault: CFAllocator! = nil
// swift-format-ignore
/// True.
public let kCFBooleanTrue: CFBoolean! = true
// swift-format-ignore
/// False.
public let kCFBooleanFalse: CFBoolean! = false
