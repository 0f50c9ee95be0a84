// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import HTTPTypes
public import NIOCore
import NIOHTTP1

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

/// How a server finds the end of a request's body (RFC 9112 section 6), decided here for every method and nowhere else.
///
/// The HTTP library frames some methods by itself and writes the bodies of the others as they are; a server reads such bytes as the next
/// request. So it decides nothing: see ``encoder()``.
enum RequestFraming: Equatable {
    /// No body, and no field that speaks of one.
    case none
    /// `content-length`; exactly so many bytes follow.
    case length(Int)
    /// `transfer-encoding: chunked`.
    case chunked

    /// Why a request cannot be framed.
    struct Impossible: Error, Equatable {
        let reason: String
    }

    init(_ method: HTTPRequest.Method, _ content: RequestBody.Content) throws(Impossible) {
        if method == .connect { throw Impossible(reason: "CONNECT requests a tunnel, which is for proxies") }
        switch content {
        case .empty: self = RequestFraming.announcesEmptyBody.contains(method) ? .length(0) : .none
        case .bytes(let bytes) where bytes.readableBytes == 0 && method == .trace: self = .none
        case .bytes(let bytes): self = .length(bytes.readableBytes)
        case .stream(let length?, _) where length < 0: throw Impossible(reason: "the length is negative")
        case .stream(let length?, _): self = .length(length)
        case .stream(nil, _): self = .chunked
        }
        // RFC 9110 section 9.3.8.
        if method == .trace, self != .none { throw Impossible(reason: "a TRACE request has no body") }
    }

    /// Replaces whatever the fields say about the body.
    func apply(to fields: inout HTTPHeaders) {
        fields.remove(name: "content-length")
        fields.remove(name: "transfer-encoding")
        switch self {
        case .none: break
        case .length(let length): fields.add(name: "content-length", value: String(length))
        case .chunked: fields.add(name: "transfer-encoding", value: "chunked")
        }
    }

    /// Methods whose requests say `content-length: 0` if they have no body (RFC 9110 section 8.6).
    private static let announcesEmptyBody: Set<HTTPRequest.Method> = [.post, .put, .patch]

    /// Writes requests with the framing that their fields announce, and adds nothing.
    static func encoder() -> HTTPRequestEncoder {
        var configuration = HTTPRequestEncoder.Configuration()
        configuration.automaticallySetFramingHeaders = false
        return HTTPRequestEncoder(configuration: configuration)
    }
}
