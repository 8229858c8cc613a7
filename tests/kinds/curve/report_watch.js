// Runs before a report: keeps whatever it complains about.
window.trouble = [];
addEventListener("error", event => trouble.push("error: " + event.message));
addEventListener("unhandledrejection", event => trouble.push("rejected: " + event.reason));
addEventListener("securitypolicyviolation", event => trouble.push("request: " + event.blockedURI));
for (const kind of ["error", "warn"]) console[kind] = (...all) => trouble.push(kind + ": " + all.join(" "));
