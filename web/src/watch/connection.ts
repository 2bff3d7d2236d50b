const token = new URLSearchParams(location.search).get("token");
const headers: Record<string, string> = token === null ? {} : { Authorization: `Bearer ${token}` };

/** Milliseconds that an answer may take. */
const PATIENCE = 15_000;

/** A document of the server. */
export async function get<T>(path: string): Promise<T> {
  const answer = await fetch(path, { headers, cache: "no-store", signal: AbortSignal.timeout(PATIENCE) });
  if (!answer.ok) throw new Error(await problem(answer));
  return (await answer.json()) as T;
}

/** Gives a command; what was done, or an error that says why not. */
export async function command(line: string): Promise<unknown> {
  const answer = await fetch("command", {
    method: "POST",
    headers: { ...headers, "Content-Type": "application/json" },
    body: JSON.stringify({ command: line }),
  });
  if (!answer.ok) throw new Error(await problem(answer));
  return ((await answer.json()) as { ok: unknown }).ok;
}

async function problem(answer: Response): Promise<string> {
  const text = await answer.text();
  try {
    return (JSON.parse(text) as { error: string }).error;
  } catch {
    return text.trim() || `the server answered ${answer.status}`;
  }
}
