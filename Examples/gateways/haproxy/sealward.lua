-- Asks the trust service about a request; HAProxy 2.5 or later.
local authorize = "http://127.0.0.1:8080/v1/authorize?app=shop"
local names = { "x-sealward-app", "x-sealward-environment", "x-sealward-key", "x-sealward-tier" }

-- The service's yes sets the headers; anything else is the answer to the client.
local function ask(txn)
    local asked = { ["x-forwarded-for"] = { txn.f:src() } }
    local headers = txn.http:req_get_headers()
    for _, name in ipairs { "authorization", "x-firebase-appcheck" } do
        local sent = headers[name]
        if sent then
            asked[name] = {}
            for place = 0, #sent do table.insert(asked[name], sent[place]) end
        end
    end
    local answer = core.httpclient():get { url = authorize, headers = asked, timeout = 5000 }
    if answer.status == 204 then
        -- With mode=observe the answer names nobody.
        for _, name in ipairs(names) do
            if answer.headers[name] then txn.http:req_set_header(name, answer.headers[name][0]) end
        end
        return nil
    end
    local known = answer.status and answer.status >= 400 and answer.status < 600
    local reply = txn:reply { status = known and answer.status or 503, body = known and answer.body or "" }
    for _, name in ipairs { "content-type", "retry-after", "www-authenticate" } do
        local values = known and answer.headers and answer.headers[name]
        if values then reply:add_header(name, values[0]) end
    end
    return reply
end

core.register_action("sealward", { "http-req" }, function(txn)
    -- HAProxy continues with the request after an error in a script: here it is refused.
    local asked, reply = pcall(ask, txn)
    if not asked then reply = txn:reply { status = 503 } end
    if reply then txn:done(reply) end
end)
