// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

// Renews the overview: asks for its sections and replaces those that changed. Without it the page is the same, as of when it was opened.
"use strict";

(() => {
    const interval = 1000;
    const deadline = 5000;
    let isPaused = false;
    let timer = 0;

    const fresh = document.getElementById("fresh");
    if (!fresh) return;
    const button = document.createElement("button");
    button.type = "button";
    button.className = "quiet";
    button.textContent = "Pause";
    const line = document.createElement("div");
    line.id = "live";
    fresh.replaceWith(line);
    line.append(fresh, button);
    button.addEventListener("click", () => {
        isPaused = !isPaused;
        button.textContent = isPaused ? "Resume" : "Pause";
        if (!isPaused) renew();
    });

    // What a reader has opened, chosen or scrolled stays as it is.
    function isInUse(section) {
        return section.contains(document.activeElement) && document.activeElement !== document.body;
    }

    function replace(section, other) {
        const open = [...section.querySelectorAll("details")].map((details) => details.open);
        const key = (element) => {
            const copy = element.cloneNode(true);
            copy.querySelectorAll("details").forEach((details) => details.removeAttribute("open"));
            return copy.innerHTML;
        };
        if (key(section) === key(other) || isInUse(section)) return;
        const tops = [...section.querySelectorAll(".wide")].map((box) => [box.scrollTop, box.scrollLeft]);
        section.replaceChildren(...other.childNodes);
        section.querySelectorAll("details").forEach((details, index) => { details.open = open[index] || false; });
        section.querySelectorAll(".wide").forEach((box, index) => { if (tops[index]) [box.scrollTop, box.scrollLeft] = tops[index]; });
    }

    async function renew() {
        clearTimeout(timer);
        if (isPaused) return;
        if (!document.hidden) {
            try {
                const answer = await fetch("/console/live" + location.search, {
                    credentials: "same-origin", redirect: "error", signal: AbortSignal.timeout(deadline),
                });
                if (answer.status === 401) { location.assign("/console/sign-in"); return; }
                if (answer.ok) {
                    const page = new DOMParser().parseFromString(await answer.text(), "text/html");
                    page.querySelectorAll("[data-live]").forEach((other) => {
                        const section = document.getElementById(other.id);
                        if (section) replace(section, other);
                    });
                    fresh.classList.remove("stale");
                } else {
                    fresh.classList.add("stale");
                }
            } catch {
                fresh.classList.add("stale");
            }
        }
        timer = setTimeout(renew, interval);
    }

    document.addEventListener("visibilitychange", () => { if (!document.hidden) renew(); });
    timer = setTimeout(renew, interval);
})();
