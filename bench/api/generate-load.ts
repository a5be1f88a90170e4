import { Pool, type Dispatcher } from 'undici';
import { quantile } from '../runner/quantile.ts';
import type { LoadJob, LoadResult } from './load.ts';

// Runs as a process: sends requests as fast as they are answered and prints the result. The job is its argument.

const job = JSON.parse(process.argv[2] ?? '') as LoadJob;
const pool = new Pool(job.origin, { connections: job.connections, pipelining: 1 });
const latenciesMs: number[] = [];
const startedMs = performance.now();
const endMs = startedMs + job.seconds * 1000;
let sent = 0;

await Promise.all(Array.from({ length: job.connections }, keepSending));
const seconds = (performance.now() - startedMs) / 1000;
await pool.close();
const result: LoadResult = {
  requests: latenciesMs.length,
  perSecond: latenciesMs.length / seconds,
  p50Ms: quantile(latenciesMs, 0.5),
  p99Ms: quantile(latenciesMs, 0.99),
};
process.stdout.write(JSON.stringify(result));

async function keepSending(): Promise<void> {
  for (let nowMs = performance.now(); nowMs < endMs;) {
    await sendRequest();
    const afterMs = performance.now();
    latenciesMs.push(afterMs - nowMs);
    nowMs = afterMs;
  }
}

/** Uses `dispatch`, undici's cheapest call: on a small machine, the generator competes with the server. */
function sendRequest(): Promise<void> {
  const n = sent;
  sent += 1;
  const { path = '/', key = '' } = job.requests[n % job.requests.length] ?? {};
  const options: Dispatcher.DispatchOptions = {
    method: job.method,
    path,
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: job.body?.replace('{n}', String(n)) ?? null,
  };
  return new Promise((resolve, reject) => {
    let status = 0;
    let text = '';
    pool.dispatch(options, {
      onRequestStart: () => undefined,
      onResponseStart: (_controller, statusCode) => {
        status = statusCode;
      },
      onResponseData: (_controller, chunk) => {
        text = status === job.status ? '' : `${text}${chunk.toString()}`;
      },
      onResponseEnd: () => {
        if (status === job.status) {
          resolve();
        } else {
          reject(new Error(`${options.method} ${options.path} answered ${status}: ${text}`));
        }
      },
      onResponseError: (_controller, error) => reject(error),
    });
  });
}
