internal import VaultBytes

/// The walk over a file's frames.
struct TakenApart {
    private(set) var objects: [ForgedObject] = []
    private(set) var tail: [UInt8] = []

    init(_ file: [UInt8], from start: Int, _ keys: inout ForgeKeys, isSigned: Bool) throws {
        let frames = Self.frames(file, from: start)
        for frame in frames where frame.type == .keyring {
            guard let body = Self.open(Array(file[frame.range]), .keyring, at: frame.range.lowerBound, keys) else {
                continue
            }
            do { keys.open(try Keyring(body.span, at: 0)) } catch { continue }
        }
        for (id, frame) in frames.enumerated() {
            objects.append(Self.object(id, Array(file[frame.range]), frame.type, frame.range.lowerBound, keys))
            // What the header asks for is asked again when the file is put together.
            if objects[id].isSigned == isSigned { objects[id].isSigned = nil }
        }
        tail = Array(file[(frames.last?.range.upperBound ?? start)...])
    }

    private static func frames(_ file: [UInt8], from start: Int) -> [(type: FrameType, range: Range<Int>)] {
        var all: [(type: FrameType, range: Range<Int>)] = []
        var position = start
        while file.count - position >= Format.frameHeadSize {
            if file[position] == 0 {
                let aligned = Int(Padding.commitOffset(UInt64(position)))
                guard aligned > position, aligned < file.count, file[position..<aligned].allSatisfy({ $0 == 0 }) else {
                    break
                }
                position = aligned
                continue
            }
            let head: FrameHead
            do throws(FormatError) {
                head = try FrameHead(Array(file[position..<position + Format.frameHeadSize]).span, at: UInt64(position))
            } catch { break }
            guard head.length <= file.count - position else { break }
            all.append((head.type, position..<position + head.length))
            position += head.length
        }
        return all
    }

    private static func object(_ id: Int, _ frame: [UInt8], _ type: FrameType, _ offset: Int, _ keys: ForgeKeys)
        -> ForgedObject
    {
        let nonce = Array(frame[Format.frameHeadSize..<Format.bodyStart])
        var object = ForgedObject(id: id, type: type, origin: UInt64(offset), nonce: nonce, body: [])
        var body: [UInt8]?
        switch type {
        case .record:
            let hidden = Array(frame[Format.bodyStart..<Format.bodyStart + Format.locatorSize])
            let name = ForgedObject.RecordName(ForgedObject.RecordName.masked(hidden, nonce: nonce, key: keys.locator))
            object.identity = name
            if let name, let key = keys.compartments[name.compartment] {
                let sealed = nonce + frame[(Format.bodyStart + Format.locatorSize)...]
                body = Plain.open(sealed, key: key, bound: Bindings.record(keys.vault, name, length: frame.count))
            }
        case .chunk: break
        case .commit:
            if let opened = open(frame, type, at: offset, keys) {
                body = Array(opened[..<Format.commitCoreSize])
                object.isSigned = opened[(Format.commitCoreSize + Format.hashSize)...].contains { $0 != 0 }
            }
        case .page, .past, .keyring, .vector: body = open(frame, type, at: offset, keys)
        }
        if let body { object.body = body } else { object.opaque = frame }
        return object
    }

    private static func open(_ frame: [UInt8], _ type: FrameType, at offset: Int, _ keys: ForgeKeys) -> [UInt8]? {
        let bound = Bindings.placed(type, keys.vault, at: UInt64(offset), length: frame.count)
        return Plain.open(Array(frame[Format.frameHeadSize...]), key: keys.sealingKey(type), bound: bound)
    }
}
