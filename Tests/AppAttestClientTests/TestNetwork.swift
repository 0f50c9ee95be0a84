// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import AppAttestClient
import DeviceSimulator
import Foundation
import Synchronization

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

/// The way to the service, and to a backend that asks it about signed requests. It writes down what was sent, and fails as it is told.
final class TestNetwork: HTTPTransport {
    /// What happens to a request instead of its normal way.
    enum Fault: Sendable {
        /// It never arrives.
        case lost
        /// It arrives; the answer does not.
        case answerLost
        /// A proxy sends it twice, and gives the second answer.
        case twice
        /// Somebody else answers.
        case answer(HTTPAnswer)
    }

    struct Sent: Sendable {
        let path: String
        let status: Int?
        let code: String?
    }

    private struct State {
        var sent: [Sent] = []
        var faults: [(suffix: String, fault: Fault)] = []
    }

    static let backend = "https://backend.example"
    private let service: String
    private let state = Mutex(State())
    private static let session: URLSession = {
        let configuration = URLSessionConfiguration.ephemeral
        configuration.httpMaximumConnectionsPerHost = 64
        return URLSession(configuration: configuration)
    }()
    private let live = URLSessionTransport(TestNetwork.session)

    init(_ service: String) { self.service = service }

    /// The next request whose path ends so meets the fault.
    func fail(_ suffix: String, _ faults: Fault...) {
        state.withLock { state in state.faults += faults.map { (suffix, $0) } }
    }

    func forgetFaults() { state.withLock { $0.faults = [] } }

    var sent: [Sent] { state.withLock { $0.sent } }
    func count(_ suffix: String) -> Int { sent.filter { $0.path.hasSuffix(suffix) }.count }
    /// The codes of all refusals.
    var codes: [String] { sent.compactMap(\.code) }

    func send(_ request: URLRequest) async throws -> HTTPAnswer {
        let path = request.url?.path ?? ""
        let fault = state.withLock { state -> Fault? in
            guard let index = state.faults.firstIndex(where: { path.hasSuffix($0.suffix) }) else { return nil }
            return state.faults.remove(at: index).fault
        }
        switch fault {
        case nil: return try await passed(request, path)
        case .lost:
            note(path, nil)
            throw URLError(.networkConnectionLost)
        case .answerLost:
            _ = try await passed(request, path)
            throw URLError(.timedOut)
        case .twice:
            _ = try await passed(request, path)
            return try await passed(request, path)
        case .answer(let answer):
            note(path, answer)
            return answer
        }
    }

    private func passed(_ request: URLRequest, _ path: String) async throws -> HTTPAnswer {
        do {
            let isForBackend = request.url?.host == "backend.example"
            let answer = isForBackend ? try await answerOfBackend(request) : try await live.send(request)
            note(path, answer)
            return answer
        } catch {
            note(path, nil)
            throw error
        }
    }

    private func note(_ path: String, _ answer: HTTPAnswer?) {
        let sent = Sent(path: path, status: answer?.status, code: answer?["code"] as? String)
        state.withLock { $0.sent.append(sent) }
    }

    /// An app's backend: it compares what was signed with what came, asks the service about the proof, and passes on what that says.
    private func answerOfBackend(_ request: URLRequest) async throws -> HTTPAnswer {
        let values = RequestProof.fields.compactMap { request.value(forHTTPHeaderField: $0) }
        guard values.count == 3, let data = Data(base64Encoded: values[2]) else {
            return HTTPAnswer(status: 200, headers: [:], body: Data(#"{"signed": false}"#.utf8))
        }
        guard let signed = RequestBinding(clientData: data), signed == (try RequestBinding(request)) else {
            return HTTPAnswer(status: 400, headers: [:], body: Data(#"{"code": "other.request"}"#.utf8))
        }
        return try await post(
            "/v1/apps/shop/assertions", ["keyId": values[0], "assertion": values[1], "clientData": values[2]])
    }

    // MARK: Calls of the tests themselves, which meet no fault and are not counted

    func post(_ path: String, _ body: [String: String], token: String? = nil) async throws -> HTTPAnswer {
        var request = try self.request(path)
        request.httpMethod = "POST"
        request.httpBody = try JSONEncoder().encode(body)
        request.setValue("application/json", forHTTPHeaderField: "Content-Type")
        if let token { request.setValue("Bearer \(token)", forHTTPHeaderField: "Authorization") }
        return try await live.send(request)
    }

    /// What a gateway is told about a request with this token.
    func authorization(_ token: AttestedToken) async throws -> Int {
        var request = try self.request("/v1/authorize?simulated=allow&env=any")
        request.setValue(token.fieldValue, forHTTPHeaderField: token.field)
        return try await live.send(request).status
    }

    private func request(_ path: String) throws -> URLRequest {
        guard let url = URL(string: service + path) else { throw Failure("no URL: \(path)") }
        return URLRequest(url: url)
    }
}

/// A value that tasks of a test share.
final class Shared<Value: Sendable>: Sendable {
    private let value: Mutex<Value>
    init(_ value: Value) { self.value = Mutex(value) }
    func withLock<Result: Sendable>(_ body: (inout Value) -> Result) -> Result { value.withLock { body(&$0) } }
}

extension HTTPAnswer {
    /// A member of the document.
    subscript(_ name: String) -> Any? { (try? JSONSerialization.jsonObject(with: body) as? [String: Any])?[name] }
}

/// A phone with an app on it that talks to a service.
struct Site {
    let phone: SimulatedPhone
    let store: any ItemStore
    let network: TestNetwork
    let clock: ManualClock?
    var configuration: AttestedSession.Configuration

    init(
        _ service: String, phone: SimulatedPhone? = nil, store: any ItemStore = MemoryStore(),
        clock: ManualClock? = ManualClock()
    ) async throws {
        if let phone { self.phone = phone } else { self.phone = await SimulatedPhone() }
        self.store = store
        self.clock = clock
        network = TestNetwork(service)
        guard let url = URL(string: service) else { throw Failure("no URL") }
        let scope = KeyScope(app: "shop", environment: .production, group: "TEAM123456.shop")
        configuration = AttestedSession.Configuration(
            service: url, scope: scope, hosts: ["backend.example", "api.example.com"])
    }

    /// A phone with a service of its own while the body runs.
    static func with(
        app: String = "", phone: SimulatedPhone? = nil, clock: ManualClock? = ManualClock(),
        _ body: (Site) async throws -> Void
    ) async throws {
        try await ServiceProcess.with(app: app) { service in
            try await body(try await Site(service.base, phone: phone, clock: clock))
        }
    }

    /// A launch of the app.
    func launch(_ change: (inout AttestedSession.Configuration) -> Void = { _ in }) -> AttestedSession {
        var configuration = configuration
        change(&configuration)
        return AttestedSession(
            configuration, device: phone, store: store, transport: network, clock: clock?.clock ?? .live)
    }

    /// An operator revokes a key.
    func revoke(_ keyId: String) async throws {
        let name = keyId.replacing("+", with: "-").replacing("/", with: "_").replacing("=", with: "")
        let answer = try await network.post("/v1/keys/\(name)/revoke", [:], token: ServiceProcess.adminToken)
        guard answer.status < 300 else { throw Failure("not revoked: \(answer.status)") }
    }

    /// A request to the backend.
    static func order(_ number: Int = 1) throws -> URLRequest {
        guard let url = URL(string: "\(TestNetwork.backend)/orders/caf%C3%A9?number=\(number)&a=b%20c") else {
            throw Failure("no URL")
        }
        var request = URLRequest(url: url)
        request.httpMethod = "POST"
        request.httpBody = Data(#"{"amount": \#(number)}"#.utf8)
        return request
    }
}
