// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

#if !Client
    #error(
        "TLSProbe, ATSClient and ATSDiagnostics need the trait Client: .package(url: \"https://github.com/sealward/sealward\", branch: \"main\", traits: [\"Client\"])"
    )
#endif
