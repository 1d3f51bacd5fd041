public import Foundation
internal import KeychainCore

// Core Foundation's names for what dictionaries hold. Foundation on Linux has no Core Foundation to import, so these are Swift's own types:
// `as CFDictionary`, `as String` and `kCFBooleanTrue` mean what they mean at Apple.

/// A text.
public typealias CFString = String
/// A dictionary of attributes.
public typealias CFDictionary = [String: Any]
/// Any result.
public typealias CFTypeRef = AnyObject
/// True or false.
public typealias CFBoolean = Bool
/// Bytes.
public typealias CFData = Data
/// An error.
public typealias CFError = NSError

// Apple declares them so, and code unwraps them.
// swift-format-ignore
/// True.
public let kCFBooleanTrue: CFBoolean! = true
// swift-format-ignore
/// False.
public let kCFBooleanFalse: CFBoolean! = false
