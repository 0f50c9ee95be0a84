// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

#if !Tools
    #error(
        "The program sealward needs the trait Tools: .package(url: \"https://github.com/sealward/sealward\", branch: \"main\", traits: [\"Tools\"])"
    )
#endif
