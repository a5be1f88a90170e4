/** What the receiver tells of itself. */
export type Received = {
  /** Path and event id of each webhook, and when it came, in milliseconds since 1970; one that came twice is there twice. */
  readonly arrivals: readonly (readonly [mark: string, atMs: number])[];
  /** The most requests at a time that waited for an answer which never comes. */
  readonly mostSilent: number;
};

export async function askReceiver(url: string): Promise<Received> {
  const response = await fetch(url, { signal: AbortSignal.timeout(10_000) });
  return (await response.json()) as Received;
}
