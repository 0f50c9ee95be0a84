// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

package import Vocabulary

/// The codes of this module that more than one file needs. `docs/errors.md` says what each means.
extension Code {
    package static let appUnknown: Code = "app.unknown"
    package static let appleUnavailable: Code = "apple.unavailable"
    package static let bodyContentType: Code = "body.content-type"
    package static let callerUnauthorized: Code = "caller.unauthorized"
    package static let challengeMissing: Code = "challenge.missing"
    package static let challengeRotationPending: Code = "challenge.rotation-pending"
    package static let internalError: Code = "internal.error"
    package static let limitAddress: Code = "limit.address"
    package static let limitApp: Code = "limit.app"
    package static let limitKeys: Code = "limit.keys"
    package static let methodNotAllowed: Code = "method.not-allowed"
    package static let pathUnknown: Code = "path.unknown"
    package static let policyApp: Code = "policy.app"
    package static let policyEnvironment: Code = "policy.environment"
    package static let policyHost: Code = "policy.host"
    package static let policySimulated: Code = "policy.simulated"
    package static let policyTier: Code = "policy.tier"
    package static let policyUntrusted: Code = "policy.untrusted"
    package static let policyUser: Code = "policy.user"
    package static let promotionPending: Code = "promotion.pending"
    package static let promotionUnknown: Code = "promotion.unknown"
    package static let revocationCount: Code = "revocation.count"
    package static let requestOtherHost: Code = "request.other-host"
    package static let requestOtherOrigin: Code = "request.other-origin"
    package static let storeClockOff: Code = "store.clock-off"
    package static let tokenInvalid: Code = "token.invalid"
    package static let tokenMissing: Code = "token.missing"
    package static let tokenNotSingleUse: Code = "token.not-single-use"
    package static let tokenSingleUse: Code = "token.single-use"
    package static let tokenSpent: Code = "token.spent"
    package static let policyOff: Code = "policy.off"
    package static let policyQuota: Code = "policy.quota"
}
