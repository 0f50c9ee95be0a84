// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

package import AppAttest
import FoundationEssentials
package import HTTPService
import TrustStores
import Vocabulary

extension Answer {
    /// This answer, with what the call was about for the audit.
    func about(_ target: AuditTarget) -> Answer {
        var answer = self
        answer.target = target
        return answer
    }
}

extension AuditTarget {
    package static func app(_ id: String?) -> AuditTarget { AuditTarget(app: id, subject: nil) }

    package static func key(_ id: KeyIdentifier, app: String) -> AuditTarget {
        AuditTarget(app: app, subject: "key:\(id.base64)")
    }

    /// A user, whose name the audit does not keep: names leave the store when they are deleted, and no line of the audit changes.
    package static func user(_ name: String, app: String?) -> AuditTarget {
        AuditTarget(app: app, subject: "user", user: name)
    }

    package static func promotion(_ name: String, app: String) -> AuditTarget {
        AuditTarget(app: app, subject: "promotion:\(name)")
    }

    static let secretOperation = "rotateSecret"

    static func secret(_ name: String) -> AuditTarget { AuditTarget(app: nil, subject: "secret:\(name)") }

    /// What a list of keys was narrowed down to.
    static func keys(_ filter: KeyFilter) -> AuditTarget {
        filter.user.map { .user($0, app: filter.app) } ?? .app(filter.app)
    }

    /// - Parameters:
    ///   - rule: with the user as the request names it.
    ///   - isDryRun: a dry run must not read as if keys had been revoked.
    static func revocation(_ rule: RevocationRule, app: String, isDryRun: Bool) -> AuditTarget {
        var user: String?
        let subject: String
        switch rule {
        case .user(let name): (subject, user) = ("user", name)
        case .environment(let name): subject = "environment:\(name)"
        case .simulated: subject = "simulated"
        case .attestedBefore(let instant): subject = "attestedBefore:\(RFC3339.text(instant))"
        }
        return AuditTarget(app: app, subject: isDryRun ? "dryRun \(subject)" : subject, user: user)
    }

    /// What a call asked for, as far as its path, its query and its body say it.
    init(asked call: Call) {
        let app =
            call.parameters["app"] ?? call.queryValue("app")
            ?? (try? RequestBody(call.body).optionalString("app", limit: 256)) ?? nil
        if let id = call.keyId {
            self.init(app: app, subject: "key:\(id.base64)")
        } else if let name = call.parameters["name"] {
            self.init(
                app: app, subject: (call.operation == AuditTarget.secretOperation ? "secret:" : "promotion:") + name)
        } else if let session = call.parameters["session"] {
            self.init(app: app, subject: "session:\(session)")
        } else {
            let user = call.parameters["user"]
            self.init(app: app, subject: user.map { _ in "user" }, user: user)
        }
    }

    /// One text: `app=ID` and what is meant within it, `*` for all apps.
    ///
    /// A user has its hash there.
    func text(naming users: UserNames) -> String {
        let hash = user.map { ":" + users.pseudonym($0) } ?? ""
        return [AuditTarget.start(app), subject.map { $0 + hash }].compactMap { $0 }.joined(separator: " ")
    }

    /// How the texts about an app begin. A space or `*` in its id is percent-encoded, because one ends the id and the other stands for all apps.
    private static func start(_ app: String?) -> String {
        "app=" + (app.map { $0.utf8.percentEncoded { !"% *".utf8.contains($0) } } ?? "*")
    }

    /// Whether a recorded target is of an app.
    static func text(_ text: String, isOf app: String) -> Bool {
        let start = start(app)
        return text.hasSameBytes(as: start) || text.utf8.starts(with: "\(start) ".utf8)
    }
}
