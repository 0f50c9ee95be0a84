// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

public import NIOCore

/// What a request sends after its header fields.
public struct RequestBody: Sendable {
    enum Content: Sendable {
        case empty
        case bytes(ByteBuffer)
        case stream(length: Int?, @Sendable (_ write: @Sendable (ByteBuffer) async throws -> Void) async throws -> Void)
    }

    let content: Content

    /// No body.
    public static let empty = RequestBody(content: .empty)

    /// A body that is in memory; it can be sent again after a 307 or 308 redirect.
    public static func bytes(_ bytes: some Sequence<UInt8>) -> RequestBody {
        RequestBody(content: .bytes(ByteBuffer(bytes: bytes)))
    }

    /// A body that is made while it is sent. It cannot be sent twice, so a 307 or 308 redirect ends the load.
    ///
    /// - Parameter length: the exact number of bytes, where it is known; otherwise the body is sent in chunks. A body that turns out shorter or
    ///   longer ends the load with code `ats.http.request-body`.
    public static func stream<Parts: AsyncSequence & Sendable>(_ parts: Parts, length: Int? = nil) -> RequestBody
    where Parts.Element == ByteBuffer {
        RequestBody(
            content: .stream(length: length) { write in
                for try await part in parts { try await write(part) }
            }
        )
    }

    var isReplayable: Bool {
        if case .stream = content { false } else { true }
    }
}
