// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import SwiftASN1

/// Looks into a stapled OCSP response (RFC 6960 section 4.2.1) for what a TLS client's report shows.
enum StapledResponse {
    /// The SignedCertificateTimestampList of the first single response (RFC 6962 section 3.3); nil where there is none.
    static func timestamps(in der: [UInt8]) -> [UInt8]? {
        guard let responses = (try? singleResponses(der)) ?? nil, var list = try? DERReader(responses, "responses"),
            let single = list.next(), var members = try? DERReader(single, "single response")
        else { return nil }
        while let member = members.next() {
            guard member.identifier == ASN1Identifier(tagWithNumber: 1, tagClass: .contextSpecific),
                let sequence = try? member.explicit("extensions"), var entries = try? DERReader(sequence, "extensions")
            else { continue }
            while let entry = entries.next() {
                guard var reader = try? DERReader(entry, "extension"),
                    let identifier = try? reader.required("extnID").objectIdentifier("extnID"),
                    identifier == "1.3.6.1.4.1.11129.2.4.5"
                else { continue }
                _ = reader.optional(.boolean)
                guard let value = try? reader.required("extnValue", .octetString).primitive("extnValue"),
                    let inner = try? DERReader.parse(value, "SCT list"), let bytes = try? inner.primitive("SCT list")
                else { return nil }
                return Array(bytes)
            }
        }
        return nil
    }

    private static func singleResponses(_ der: [UInt8]) throws -> ASN1Node? {
        var response = try DERReader(try DERReader.parse(der[...], "OCSP response"), "OCSP response")
        _ = try response.required("status")
        guard let tagged = response.optional(context: 0) else { return nil }
        var bytes = try DERReader(try tagged.explicit("response bytes"), "response bytes")
        guard try bytes.required("type").objectIdentifier("type") == "1.3.6.1.5.5.7.48.1.1" else { return nil }
        let basic = try bytes.required("response", .octetString).primitive("response")
        var frame = try DERReader(try DERReader.parse(basic, "basic response"), "basic response")
        var data = try DERReader(try frame.required("data", .sequence), "response data")
        _ = data.optional(context: 0)
        _ = try data.required("responder")
        _ = try data.required("producedAt")
        return try data.required("responses", .sequence)
    }
}
