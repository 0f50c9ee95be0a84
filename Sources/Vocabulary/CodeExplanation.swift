// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

/// What a code means, and who has to do what about it.
///
/// Each family of codes has its table in the module that uses the codes; `sealward explain` and `docs/errors.md` read the tables.
package struct CodeExplanation: Sendable {
    /// Who can do something about it.
    package enum Actor: String, Sendable, CaseIterable {
        /// The administrator of the server that the app talks to.
        case server
        /// The administrator of the network or the firewall between app and server.
        case network
        case developer
        /// The app by itself, while it runs.
        case app
        /// The server that asks the service: a backend or a gateway.
        case backend
        /// The administrator of `sealward serve` or its store.
        case `operator`
        /// The provider of the file or the option that was read.
        case author
        case nobody

        /// The actor in words, for a sentence.
        package var words: String {
            switch self {
            case .server: "the server's administrator"
            case .network: "the administrator of the network between app and server"
            case .developer: "the app's developer"
            case .app: "the app, while it runs"
            case .backend: "the backend or gateway that sent the request"
            case .operator: "Sealward's administrator"
            case .author: "the provider of the input"
            case .nobody: "nobody"
            }
        }
    }

    package let code: Code
    /// What was found, without a full stop.
    package let meaning: String
    package let actor: Actor
    /// What they do, as an instruction without a full stop.
    package let action: String

    package init(_ code: Code, _ meaning: String, _ actor: Actor, _ action: String) {
        self.code = code
        self.meaning = meaning
        self.actor = actor
        self.action = action
    }
}
