public import Foundation

// Core Foundation's names for what dictionaries hold. Foundation on Linux has no Core Foundation to import; these are
// the classes that Apple bridges it with toll-free, so that `as CFDictionary` of any dictionary, `as String` of a
// constant, `[String: AnyObject]` and `kCFBooleanTrue` compile and mean what they mean there.

/// A text.
public typealias CFString = NSString
/// A dictionary of attributes, or a query: any `[String: Any]`, `[CFString: Any]` or `NSDictionary`, by `as
/// CFDictionary`.
public typealias CFDictionary = NSDictionary
/// A dictionary that can be changed.
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

/// Apple's type of allocators. There is one here, the default, and it is nil.
public final class CFAllocator: Sendable {
    private init() {}
}

// Apple declares them so, and code unwraps them.
// swift-format-ignore
/// The default allocator: nil, as at Apple.
public let kCFAllocatorDefault: CFAllocator! = nil
// swift-format-ignore
/// True.
public let kCFBooleanTrue: CFBoolean! = true
// swift-format-ignore
/// False.
public let kCFBooleanFalse: CFBoolean! = false
