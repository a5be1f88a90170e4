import { gzipSync } from 'node:zlib';
import { must, statusOf, type Attack, type Target } from '../attack.ts';

const mebibyte = 1_048_576;

/** Sends a body as JSON. @returns status and size of the answer. */
async function post(
  { url, attacker }: Target,
  body: string | Uint8Array<ArrayBuffer>,
  headers: Record<string, string> = {},
): Promise<{ readonly status: number; readonly bytes: number }> {
  const response = await fetch(`${url}/api/v1/posts`, {
    method: 'POST',
    body,
    headers: {
      authorization: `Bearer ${attacker.key}`,
      'content-type': 'application/json',
      ...headers,
    },
  });
  return { status: response.status, bytes: (await response.arrayBuffer()).byteLength };
}

const isRefused = (status: number): boolean => status >= 400 && status < 500;

/** Bodies that must be refused with a small answer. */
const bodies: Readonly<Record<string, () => string | Uint8Array<ArrayBuffer>>> = {
  'half a million elements of the wrong type': () =>
    JSON.stringify({ body: 'x', channel_ids: Array(200_000).fill(0) }),
  'an object with 100,000 unknown keys': () =>
    `{${Array.from({ length: 100_000 }, (_, n) => `"k${n}":1`).join()}}`,
  'arrays within arrays, 200,000 deep': () => `${'['.repeat(200_000)}${']'.repeat(200_000)}`,
  'objects within objects, 100,000 deep': () => `${'{"a":'.repeat(100_000)}1${'}'.repeat(100_000)}`,
  'a number of a million digits': () => `{"schedule_in_minutes":${'9'.repeat(900_000)}}`,
  'a string that never ends': () => `{"body":"${'x'.repeat(900_000)}`,
  'keys that every object inherits': () =>
    '{"__proto__":{"body":"x"},"constructor":{"prototype":{"a":1}},"body":"x","channel_ids":[]}',
  'bytes that are not UTF-8': () => new Uint8Array(100_000).fill(0xff),
};

const bomb = () => new Uint8Array(gzipSync(Buffer.alloc(64 * mebibyte)));

const refusal = (name: string, make: (target: Target) => ReturnType<typeof post>): Attack => ({
  name: `JSON: ${name}`,
  run: async (target) => {
    const { status, bytes } = await make(target);
    return [
      ...must(isRefused(status), `answered with ${status}`),
      ...must(bytes < 20_000, `its answer has ${bytes} bytes`),
    ];
  },
});

const manyAtOnce: Attack = {
  name: 'JSON: forty bodies of a megabyte at once',
  run: async (target) => {
    const body = JSON.stringify({ body: 'x'.repeat(mebibyte - 200), channel_ids: [] });
    const answers = await Promise.all(Array.from({ length: 40 }, () => post(target, body)));
    return answers.flatMap(({ status }) => must(isRefused(status), `answered with ${status}`));
  },
};

const wrongKeys: Attack = {
  name: 'a thousand wrong keys',
  run: async ({ url }) => {
    const faults: string[] = [];
    for (let round = 0; round < 20; round += 1) {
      const statuses = await Promise.all(
        Array.from({ length: 50 }, (_, n) =>
          statusOf(`${url}/api/v1/posts`, {
            headers: { authorization: `Bearer svc_live_${round}x${n}${'a'.repeat(40)}` },
          }),
        ),
      );
      const isExpected = (status: number) => [401, 429].includes(status);
      faults.push(...statuses.flatMap((one) => must(isExpected(one), `a wrong key got ${one}`)));
    }

    return faults.slice(0, 3);
  },
};

export const bodyAttacks: readonly Attack[] = [
  ...Object.entries(bodies).map(([name, make]) => refusal(name, (target) => post(target, make()))),
  refusal('zeros that are compressed', (target) =>
    post(target, bomb(), { 'content-encoding': 'gzip' }),
  ),
  manyAtOnce,
  wrongKeys,
];
