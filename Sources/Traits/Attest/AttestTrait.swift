// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

#if !Attest
    #error(
        "AppAttest, TrustTokens, DeviceSimulator and AppAttestClient need the trait Attest: .package(url: \"https://github.com/sealward/sealward\", branch: \"main\", traits: [\"Attest\"])"
    )
#endif
