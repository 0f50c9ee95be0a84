// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import NIOCore
import NIOHTTP1
import Testing

@testable import ATSClient

/// What the proxy does about each thing that a client and a server do, without a channel, a clock or a task.
struct ProxyFrontTests {
    /// A front with the words of what it wants done.
    struct Stage {
        var front: ProxyFront

        init(_ verdict: ProxyPasswords.Verdict = .right) { front = ProxyFront { _ in verdict } }

        mutating func does(_ happens: (inout ProxyFront) -> [ProxyFront.Action]) -> String {
            happens(&front).map(ProxyFrontTests.word).joined(separator: ", ")
        }

        /// The client sends a request without its end.
        mutating func head(_ method: HTTPMethod, _ uri: String, _ fields: [(String, String)] = []) -> String {
            let head = HTTPRequestHead(
                version: .http1_1, method: method, uri: uri, headers: HTTPHeaders([("host", "up")] + fields))
            return does { $0.received(.head(head)) }
        }

        mutating func body() -> String { does { $0.received(.body(ByteBuffer(string: "abc"))) } }
        mutating func end() -> String { does { $0.received(.end(nil)) } }
        mutating func answered() -> String { does { $0.answered(isTaken: true) } }
    }

    static func word(_ action: ProxyFront.Action) -> String {
        switch action {
        case .wait(let limit): "wait \(limit)"
        case .stopWaiting: "stop"
        case .forward: "forward"
        case .body: "body"
        case .endBody: "end of body"
        case .failBody: "no body"
        case .open: "open"
        case .answer(let refusal, let keepsAlive, let hasBody):
            "\(refusal.status.code)\(keepsAlive ? "" : " close")\(hasBody ? "" : " bare")"
        case .endAnswer: "end"
        case .closeOutput: "close output"
        case .close: "close"
        }
    }

    @Test func aRequestIsForwardedAndTheConnectionRests() {
        var stage = Stage()
        #expect(stage.head(.GET, "http://up/") == "wait request, forward")
        #expect(stage.end() == "stop, end of body")
        #expect(stage.does { $0.forwarded(.complete(closes: false)) } == "stop, end")
        #expect(stage.answered() == "wait keepAlive")
        // The limit of the next head begins with its first byte.
        #expect(stage.does { $0.bytesArrived() } == "wait request")
        #expect(stage.does { $0.bytesArrived() } == "")
    }

    @Test func whatIsRefusedIsAnsweredAtItsEndAndABodyAtOnce() {
        var stage = Stage()
        #expect(stage.head(.GET, "/") == "wait request")
        #expect(stage.end() == "400, stop, end")
        #expect(stage.answered() == "wait keepAlive")
        #expect(stage.head(.HEAD, "/") == "wait request")
        #expect(stage.end() == "400 bare, stop, end")
        #expect(stage.answered() == "wait keepAlive")
        #expect(stage.head(.POST, "/", [("content-length", "9")]) == "400 close, wait linger, end")
        #expect(stage.body() == "")
        #expect(stage.answered() == "close output")
        #expect(stage.end() == "close")
    }

    @Test(arguments: [
        (ProxyPasswords.Verdict.missing, "407"), (.wrong, "407 close"), (.tooMany, "429 close"),
    ])
    func passwords(_ verdict: ProxyPasswords.Verdict, _ answer: String) {
        var stage = Stage(verdict)
        #expect(stage.head(.GET, "http://up/") == "wait request")
        #expect(stage.end() == "\(answer), stop, end")
    }

    @Test func pipelinedRequestsWaitForTheirTurn() {
        var stage = Stage()
        _ = stage.head(.GET, "http://up/1")
        _ = stage.end()
        #expect(stage.head(.GET, "/2") == "" && stage.front.holdsRead)
        #expect(stage.end() == "")
        #expect(stage.head(.GET, "http://up/3") == "")
        #expect(stage.end() == "")
        #expect(stage.does { $0.forwarded(.complete(closes: false)) } == "stop, end")
        #expect(stage.answered() == "wait keepAlive, wait request, 400, stop, end")
        #expect(stage.front.holdsRead)
        #expect(stage.answered() == "wait keepAlive, wait request, forward, stop, end of body")
        #expect(!stage.front.holdsRead)
    }

    @Test func noMoreThanAFewPartsWait() {
        var stage = Stage()
        _ = stage.head(.GET, "http://up/")
        _ = stage.end()
        for _ in 0..<32 {
            #expect(stage.head(.GET, "http://up/") == "")
            #expect(stage.end() == "")
        }
        #expect(stage.head(.GET, "http://up/") == "close")
    }

    @Test func nonsenseBehindARequestIsRefusedInItsTurn() {
        var stage = Stage()
        #expect(stage.does { $0.isMalformed() } == "400 close, stop, end")
        stage = Stage()
        _ = stage.head(.GET, "http://up/")
        _ = stage.end()
        #expect(stage.does { $0.isMalformed() } == "")
        #expect(stage.does { $0.forwarded(.complete(closes: false)) } == "stop, end")
        #expect(stage.answered() == "wait keepAlive, 400 close, stop, end")
        #expect(stage.answered() == "close")
    }

    @Test func aMalformedBodyEndsTheRequest() {
        var stage = Stage()
        _ = stage.head(.POST, "http://up/", [("transfer-encoding", "chunked")])
        #expect(stage.body() == "wait request, body")
        #expect(stage.does { $0.isMalformed() } == "no body")
        #expect(stage.does { $0.forwarded(.broken) } == "400 close, stop, end")
        // Where the answer has begun there is nothing else to say.
        stage = Stage()
        _ = stage.head(.POST, "http://up/", [("transfer-encoding", "chunked")])
        stage.front.answerBegins()
        #expect(!stage.front.mayContinue)
        #expect(stage.does { $0.isMalformed() } == "close")
    }

    @Test func anAnswerBeforeTheEndOfTheBodyLingers() {
        var stage = Stage()
        _ = stage.head(.POST, "http://up/", [("content-length", "9")])
        #expect(stage.front.mayContinue)
        #expect(stage.does { $0.bodyIsHeld() } == "stop" && stage.front.holdsRead)
        #expect(stage.does { $0.readOn() } == "wait request" && !stage.front.holdsRead)
        stage.front.answerBegins()
        #expect(stage.does { $0.forwarded(.complete(closes: false)) } == "wait linger, end")
        #expect(stage.answered() == "close output")
        #expect(stage.does { $0.isMalformed() } == "")
    }

    @Test func aTunnelTakesNothingAheadOfItsAnswer() {
        var stage = Stage()
        #expect(stage.head(.CONNECT, "up:443") == "wait request")
        #expect(stage.end() == "wait decision, open" && stage.front.holdsRead)
        var late = stage
        #expect(late.does { $0.decisionIsLate() } == "504 close, stop, end")
        #expect(late.answered() == "close")
        #expect(stage.does { $0.tunnelOpened() } == "stop")
        #expect(stage.does { $0.isMalformed() } == "close")
    }

    @Test func withoutRoomTheConnectionEnds() {
        for fields in [[], [("content-length", "9")]] {
            var stage = Stage()
            _ = stage.head(.PUT, "http://up/", fields)
            #expect(
                stage.does { $0.noRoom() }
                    == (fields.isEmpty ? "503 close, stop, end" : "503 close, wait linger, end"))
        }
    }

    @Test func anAnswerThatCannotBeWrittenEndsTheConnection() {
        var stage = Stage()
        _ = stage.head(.GET, "http://up/")
        _ = stage.end()
        #expect(stage.does { $0.forwarded(.complete(closes: false)) } == "stop, end")
        #expect(stage.does { $0.answered(isTaken: false) } == "close")
    }
}
