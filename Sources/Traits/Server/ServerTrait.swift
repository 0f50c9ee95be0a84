// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

#if !Server
    #error(
        "TrustService, TrustStores, TrustStoreContract, AppleServices, AppleSimulator, DeviceCheckBits and SealwardHummingbird need the trait Server: .package(url: \"https://github.com/sealward/sealward\", branch: \"main\", traits: [\"Server\"])"
    )
#endif
