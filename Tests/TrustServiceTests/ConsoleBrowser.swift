// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import Foundation
import NIOConcurrencyHelpers
import TestSupport
import Vocabulary

@testable import TrustService

/// A browser without scripts: it keeps cookies, follows no redirect, and sends what forms send.
final class ConsoleBrowser: Sendable {
    /// One answer, as it came.
    struct Page: Sendable {
        let status: Int
        let head: String
        let body: String

        /// The values of a field of the head, whose name is in lower case.
        func fields(_ name: String) -> [String] {
            head.split(separator: "\r\n").filter { $0.lowercased().hasPrefix(name + ":") }
                .map { $0.dropFirst(name.count + 1).trimmingCharacters(in: .whitespaces) }
        }

        /// The token of the page's forms.
        var formToken: String? {
            guard let range = body.range(of: "name=\"csrf\" value=\"") else { return nil }
            return String(body[range.upperBound...].prefix { $0 != "\"" })
        }
    }

    let port: Int
    /// The last number of its address in 127/8.
    let source: UInt32
    let cookies = NIOLockedValueBox<[String: String]>([:])
    private let extra: [String]

    init(_ base: String?, source: UInt32 = 1, headers: [String] = []) throws {
        guard let port = base?.split(separator: ":").last.flatMap({ Int($0) }) else {
            throw Failure("no port: \(base ?? "")")
        }
        self.port = port
        self.source = source
        extra = headers
    }

    /// One that has signed in.
    convenience init(_ service: RunningService, as token: String, source: UInt32 = 1) throws {
        try self.init(service.internalBase, source: source)
        let status = try signIn(token).status
        guard status == 303 else { throw Failure("not signed in: \(status)") }
    }

    /// Sends one request.
    func send(_ method: String, _ path: String, _ headers: [String] = [], body: String = "") throws -> Page {
        let client = try LoopbackClient(from: source, port: port, limit: 10)
        var lines = ["\(method) \(path) HTTP/1.1", "Host: 127.0.0.1:\(port)", "Connection: close"] + extra + headers
        let kept = cookies.withLockedValue { $0 }
        if !kept.isEmpty { lines.append("Cookie: " + kept.map { "\($0.key)=\($0.value)" }.joined(separator: "; ")) }
        if method == "POST" { lines.append("Content-Length: \(body.utf8.count)") }
        client.send(lines.joined(separator: "\r\n") + "\r\n\r\n" + body)
        let text = client.readAll()
        guard let end = text.range(of: "\r\n\r\n") else {
            throw Failure("no answer to \(method) \(path): \(text.prefix(200))")
        }
        let head = String(text[..<end.lowerBound])
        let page = Page(
            status: Int(head.split(separator: " ").dropFirst().first ?? "") ?? 0, head: head,
            body: String(text[end.upperBound...]))
        for cookie in page.fields("set-cookie") {
            let pair = cookie.prefix { $0 != ";" }.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            guard let name = pair.first, let value = pair.last, pair.count == 2 else { continue }
            cookies.withLockedValue { $0[String(name)] = value.isEmpty ? nil : String(value) }
        }
        return page
    }

    func get(_ path: String) throws -> Page { try send("GET", path) }

    /// Sends a form, as a page of the console would.
    func post(
        _ path: String, _ fields: [(String, String)], from origin: [String] = ["Sec-Fetch-Site: same-origin"]
    ) throws -> Page {
        let body = fields.map { "\($0.0)=\($0.1.utf8.percentEncoded())" }.joined(separator: "&")
        return try send("POST", path, origin + ["Content-Type: application/x-www-form-urlencoded"], body: body)
    }

    /// Signs in with a token and gives the answer.
    @discardableResult
    func signIn(_ token: String) throws -> Page {
        let form = try get("/console/sign-in")
        return try post("/console/sign-in", [("csrf", form.formToken ?? ""), ("token", token)])
    }
}
