// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import TLSModel
import Vocabulary

/// The most days for which public authorities may issue certificates of servers, by the day of issue.
///
/// No device refuses a longer certificate for that alone, as far as is known; the next one of the same length cannot be had.
enum LifetimeSchedule {
    /// In order of time.
    private static let steps: [(from: Date, days: Int)] = [
        (midMarch(2026), 200), (midMarch(2027), 100), (midMarch(2029), 47),
    ]

    private static func midMarch(_ year: Int) -> Date {
        Date(timeIntervalSince1970: Double(CivilDate(year: year, month: 3, day: 15).daysSince1970) * 86_400)
    }

    private static let citation = Citation(
        source: "CA/Browser Forum Baseline Requirements 6.3.2 (ballot SC-081v3); Apple Root Program policy 2.0",
        read: "2026-11-22")

    /// The most days of a certificate that is issued on a day.
    static func days(on day: Date) -> Int { steps.last { $0.from <= day }?.days ?? 398 }

    /// The end of the longest certificate that is issued on a day.
    static func end(issuedOn day: Date) -> Date { day.addingTimeInterval(Double(days(on: day)) * 86_400) }

    /// How long the certificates after one another can be: `200 days, until 2027-09-24, then 100 days, from 2029-03-15 on 47 days`.
    static func renewals(from day: Date) -> String {
        let next = end(issuedOn: day)
        let later = steps.filter { $0.from > next }.map { ", from \(CivilDate.text(of: $0.from)) on \($0.days) days" }
        return "\(days(on: day)) days, until \(CivilDate.text(of: next)), then \(days(on: next)) days" + later.joined()
    }

    /// What the schedule says about a leaf that a public authority issued: that it is longer than it may be, or that its successor must be
    /// shorter; nil if neither.
    static func note(_ leaf: CertificateFacts) -> Cause? {
        let length = leaf.notAfter.timeIntervalSince(leaf.notBefore)
        guard length > 0 else { return nil }
        let day = CivilDate.text(of:)
        let days = Int(min((length / 86_400).rounded(.up), 1e7))
        if let step = steps.last(where: { $0.from <= leaf.notBefore }), length > Double(step.days) * 86_400 {
            return note(
                "The certificate was issued on \(day(leaf.notBefore)) for \(days) days; since \(day(step.from)) public CAs may issue for at most "
                    + "\(step.days) days.")
        }
        if let step = steps.last(where: { $0.from <= leaf.notAfter }), length > Double(step.days) * 86_400 {
            return note(
                "The certificate is valid for \(days) days, and its successor cannot be: from \(day(step.from)) on, public CAs may issue for at most "
                    + "\(step.days) days.")
        }
        return nil
    }

    private static func note(_ message: String) -> Cause {
        Cause(.noteLifetime, message, citation: citation, kind: .note)
    }
}
