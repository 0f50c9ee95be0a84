// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import AppAttest
import HTTPService
import Vocabulary

/// One configured app with its verifiers. By reference, as every request hands it around.
final class ServedApp: Sendable {
    let settings: Configuration.App
    let verifiers: AppVerifiers
    /// What these verifiers found out about keys of simulated devices.
    let vouchers: Vouchers

    /// Which keys of simulated devices the configured simulated roots vouch for, so that each key is looked at once: the key's receipt says it.
    ///
    /// Made anew with the verifiers, so that what is found out under roots of before never counts under those of now, however late it comes.
    typealias Vouchers = BoundedCache<KeyIdentifier, Bool>

    init(settings: Configuration.App, verifiers: AppVerifiers, vouchers: Vouchers) {
        self.settings = settings
        self.verifiers = verifiers
        self.vouchers = vouchers
    }

    /// The environment whose host of Apple's the app's device tokens belong to.
    var deviceTokenEnvironment: String { settings.environments.contains(.production) ? "production" : "development" }
}

/// The apps that are served now, each within its limit.
struct AppDirectory: Sendable {
    let live: LiveBook
    let limits: RequestLimits?
    let uptime: @Sendable () -> Double

    var all: [String: ServedApp] { live.current.apps }

    subscript(id: String) -> ServedApp? { all[id] }

    /// The app of a call, within its limit.
    ///
    /// - Throws: ``Problem`` `app.unknown` or `limit.app`.
    func app(_ id: String?, _ call: Call) throws(Problem) -> ServedApp {
        // By bytes and bounded: hashing text that a caller chose costs the square of its length.
        guard let id, id.utf8.count <= Route.parameterLimit, let app = all[id], app.settings.id.hasSameBytes(as: id)
        else { throw Problem(.appUnknown) }
        if call.caller == .anyone, let wait = limits?.take(id, at: uptime()) {
            throw Problem(.limitApp, retryAfterSeconds: wait)
        }
        return app
    }

    func app(_ call: Call) throws(Problem) -> ServedApp { try app(call.parameters["app"], call) }

    /// The app that a body or a query names, if the caller's credential is good for it.
    ///
    /// - Throws: ``Problem`` `app.unknown`, `caller.unauthorized`.
    func app(_ id: String?, _ call: Call, as role: Authority.Role) throws(Problem) -> ServedApp {
        let app = try app(id, call)
        try call.caller.require(role, app: app.settings.id)
        return app
    }
}
