// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

#include "CContracts.h"

#pragma clang diagnostic ignored "-Wc23-extensions"

static const char service[] = {
#embed "../../docs/openapi.yaml"
    , 0};

static const char simulator[] = {
#embed "../../docs/simulator-openapi.yaml"
    , 0};

const char *sealward_service_contract(void) { return service; }

const char *sealward_simulator_contract(void) { return simulator; }
