import { fileURLToPath } from 'node:url';
import { request } from 'undici';
import { runCommand } from '../../scripts/run-command.ts';

const generator = fileURLToPath(new URL('generate-load.ts', import.meta.url));

/** Runs a job in the load generator. @throws Error with its last output when a response was wrong. */
export async function load(job: LoadJob): Promise<LoadResult> {
  const timeoutMs = (job.seconds + 30) * 1000;
  const args = [generator, JSON.stringify(job)];
  const { ok, stdout, stderr } = await runCommand(process.execPath, args, { timeoutMs });
  if (!ok) {
    throw new Error(`The load generator ended early.\n${stderr.trim().slice(-2000)}`);
  }

  return JSON.parse(stdout) as LoadResult;
}

/** The load generator's job and its result, both as JSON. */
export type LoadJob = {
  /** `http://127.0.0.1:3000` */
  readonly origin: string;
  readonly method: 'GET' | 'POST';
  /** Sent in order, repeatedly, each with the API key of its caller. */
  readonly requests: readonly { readonly path: string; readonly key: string }[];
  /** `{n}` is replaced with a number per request. */
  readonly body?: string;
  /** Number of concurrent requests, each on a kept-alive connection. */
  readonly connections: number;
  readonly seconds: number;
  /** The expected status. */
  readonly status: number;
};

export type LoadResult = {
  readonly requests: number;
  readonly perSecond: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
};

/** Calls the API once. @returns the response's body. @throws Error for a status other than 200 or 201. */
export async function call(
  origin: string,
  key: string,
  method: 'GET' | 'POST',
  path: string,
  body?: object,
): Promise<unknown> {
  const answer = await request(`${origin}/api/v1${path}`, {
    method,
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: body === undefined ? null : JSON.stringify(body),
  });
  const text = await answer.body.text();
  if (answer.statusCode !== 200 && answer.statusCode !== 201) {
    throw new Error(`${method} ${path} answered ${answer.statusCode}: ${text}`);
  }

  return JSON.parse(text);
}
