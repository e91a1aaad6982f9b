// Asking the service, and reading what it says when it says no. It knows no page.

/** A refusal: a code to switch on, the fields at fault, and how many seconds to wait. */
export class Refusal {
  constructor(status, body, retryAfter) {
    this.status = status;
    // Developers' routes have it inside. Two shapes carry none: the flood limit's, and an answer that is not ours (a proxy's).
    this.code = body?.code ?? body?.error?.code ?? (status === 429 ? "RATE_001" : "UNKNOWN");
    this.fields = (body?.details?.errors ?? []).map((fault) => fault.loc.at(-1));
    this.reasons = body?.details?.reasons ?? [];
    this.wait = Number.parseInt(retryAfter ?? "0", 10) || 0;
  }
}

/** Posts JSON; the answer's body, or a thrown Refusal. */
export async function post(path, body) {
  return ask("POST", path, { body: JSON.stringify(body), headers: { "Content-Type": "application/json" } });
}

/** Reads as the signed-in person. */
export async function read(path, token) {
  return ask("GET", path, { headers: { Authorization: `Bearer ${token}` } });
}

/** Posts without a body as the signed-in person. */
export async function act(path, token) {
  return ask("POST", path, { headers: { Authorization: `Bearer ${token}` } });
}

async function ask(method, path, options) {
  let response;
  try {
    response = await fetch(path, { method, credentials: "same-origin", ...options });
  } catch {
    throw new Refusal(0, null, null);
  }
  const body = await response.json().catch(() => null);
  if (!response.ok) throw new Refusal(response.status, body, response.headers.get("Retry-After"));
  return body;
}
