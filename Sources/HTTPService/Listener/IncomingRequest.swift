// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

package import HTTPTypes
import Hummingbird
import NIOCore

/// One request, from a connection or from a caller in this process.
package struct IncomingRequest: Sendable {
    package let head: HTTPRequest
    /// The address of the other end; `unix` if it has none.
    package let peer: String
    private let connected: (body: RequestBody, channel: any Channel)?
    private let given: [UInt8]

    /// A request that came over no connection.
    package init(_ head: HTTPRequest, body: [UInt8] = [], peer: String) {
        (self.head, self.peer, given, connected) = (head, peer, body, nil)
    }

    init(_ request: Request, over channel: any Channel) {
        head = request.head
        peer = channel.remoteAddress?.ipAddress ?? "unix"
        given = []
        connected = (request.body, channel)
    }

    /// Whether the client is gone, so that nobody will read an answer.
    package var isAbandoned: Bool { connected?.channel.isActive == false }

    /// The path, and the query without its question mark.
    package var target: (path: String, query: String) { IncomingRequest.split(head.path ?? "") }

    static func split(_ target: String) -> (path: String, query: String) {
        let mark = target.utf8.firstIndex(of: UInt8(ascii: "?"))
        return (
            String(target[..<(mark ?? target.endIndex)]),
            mark.map { String(target[target.utf8.index(after: $0)...]) } ?? ""
        )
    }

    /// Reads the body.
    ///
    /// - Throws: ``Problem`` `body.too-large`, or `request.malformed` if it ends early.
    package func body(upTo limit: Int) async throws(Problem) -> [UInt8] {
        guard let connected else {
            guard given.count <= limit else { throw Problem.bodyTooLarge }
            return given
        }
        // Not by the subscript, which joins fields: what was let in has one at most.
        let length = head.headerFields.first { $0.name == .contentLength }?.value
        if let length, length.utf8.count > 20 || Int(length) ?? 0 > limit { throw Problem.bodyTooLarge }
        do {
            return Array(try await connected.body.collect(upTo: limit).readableBytesView)
        } catch is NIOTooManyBytesError {
            throw Problem.bodyTooLarge
        } catch {
            throw Problem.malformed("the body ended early")
        }
    }
}

extension Answer {
    /// Its header fields, without the length of the body.
    var fields: HTTPFields {
        var fields = HTTPFields()
        if let contentType { fields[.contentType] = contentType }
        fields[.cacheControl] = "no-store"
        for (name, value) in headers {
            if name == .setCookie { fields.append(HTTPField(name: name, value: value)) } else { fields[name] = value }
        }
        return fields
    }

    /// As it is sent.
    func response(toHead isHead: Bool) -> Response {
        var fields = fields
        let status = HTTPResponse.Status(code: status)
        if isHead {
            fields[.contentLength] = String(body.count)
            return Response(status: status, headers: fields)
        }
        if self.status == 204 || self.status == 304 { return Response(status: status, headers: fields) }
        return Response(status: status, headers: fields, body: .init(byteBuffer: ByteBuffer(bytes: body)))
    }
}
