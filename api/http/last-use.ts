import type { Pool } from 'pg';

const text = `update api_keys set last_used_at = now()
  where id = $1 and (last_used_at is null or last_used_at <= now() - interval '1 minute')`;

/**
 * Makes a function that writes down that a key was used just now, about once a minute over all processes. No call waits
 * for it, and none fails by it: what could not be written is written at the next one.
 */
export function lastUseRecorder(pool: Pool): (keyId: string) => void {
  const underWay = new Set<string>();
  return (keyId) => {
    if (underWay.has(keyId)) {
      return;
    }

    underWay.add(keyId);
    pool
      .query({ name: 'last-use', text, values: [keyId] })
      .catch(() => undefined)
      .finally(() => underWay.delete(keyId));
  };
}
