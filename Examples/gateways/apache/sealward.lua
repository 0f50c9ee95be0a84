-- Asks the trust service about a request (mod_lua; the module of lua-socket in Debian).
local http = require "socket.http"
local authorize_url = "http://127.0.0.1:8080/v1/authorize?app=shop"
local names = { "X-Sealward-App", "X-Sealward-Environment", "X-Sealward-Key", "X-Sealward-Tier" }
http.TIMEOUT = 5

-- Removes what a client sends under our names, also with another character for -.
local function strip(r)
    for name in pairs(r:headers_in_table()) do
        if name:lower():find("^x%Wsealward") then r.headers_in[name] = nil end
    end
end

function open(r)
    strip(r)
    return apache2.OK
end

function authorize(r)
    strip(r)
    local asked = { ["X-Forwarded-For"] = r.useragent_ip }
    for _, name in ipairs { "Authorization", "X-Firebase-AppCheck" } do asked[name] = r.headers_in[name] end
    local done, status, headers = http.request { url = authorize_url, headers = asked, redirect = false }
    if done and status == 204 then
        for _, name in ipairs(names) do r.headers_in[name] = headers[name:lower()] end
        return apache2.OK
    end
    if not done or status < 400 then return 503 end
    if headers["retry-after"] then r.err_headers_out["Retry-After"] = headers["retry-after"] end
    if headers["www-authenticate"] then r.err_headers_out["WWW-Authenticate"] = headers["www-authenticate"] end
    return status
end
