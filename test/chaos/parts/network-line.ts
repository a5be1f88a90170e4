import { once } from 'node:events';
import {
  createServer,
  type IncomingHttpHeaders,
  type IncomingMessage,
  request as httpRequest,
  type ServerResponse,
} from 'node:http';
import type { AddressInfo } from 'node:net';
import { buffer } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';
import type { ExecutionContext } from 'ava';
import type { LineFault, ServerFault } from '../plan/faults.ts';
import type { Label } from '../plan/texts.ts';
import type { LinePlatform, LineRequest } from './create-request.ts';
import type { Cues } from './cues.ts';
import type { Journal } from './journal.ts';
import type { PlannedFaults, TakenFault } from './planned-faults.ts';

/** Longer than the product waits for any network, in milliseconds. */
const beyondTimeoutMs = 32_000;
const stormMs = 5000;
const retryAfterSeconds = '3';

/** A request that would make posts, as it left the product. */
export type SeenCreate = {
  readonly labels: readonly Label[];
  /** In milliseconds since 1970. */
  readonly askedAtMs: number;
  /** See `LinePlatform`. */
  readonly account: string;
};

export type NetworkLine = {
  readonly url: string;
  readonly port: number;
  readonly creates: readonly SeenCreate[];
  /** From now on the network finds that the account's tokens have expired. A new login is another matter. */
  expire(account: string): void;
  /** From now on, for so long, this server is in trouble. Every second post that it is asked for it makes all the same. */
  suffer(fault: ServerFault, forMs: number): void;
};

export type LineOptions = LinePlatform & {
  readonly serverUrl: string;
  readonly faults: PlannedFaults;
  readonly journal: Journal;
  readonly cues: Cues;
  readonly killWorker: (name: string) => void;
};

type Answer = {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly body: Buffer;
};

/** The line between the product and one network: it is as bad as the run's plan says. */
export async function networkLine(t: ExecutionContext, options: LineOptions): Promise<NetworkLine> {
  const line = new Line(options);
  const server = createServer((incoming, response) => {
    line.pass(incoming, response).catch(() => response.destroy());
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.teardown(() => {
    server.close();
    server.closeAllConnections();
  });
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    port,
    creates: line.creates,
    expire: (account) => line.expired.add(account),
    suffer: (fault, forMs) => line.suffer(fault, forMs),
  };
}

/** For these, the post's user acts while the request is on its way. */
const cuedFaults: ReadonlySet<LineFault> = new Set([
  'terminated in mid-send',
  '429 after a cancel',
  'killed in a late record',
]);

class Line {
  readonly creates: SeenCreate[] = [];
  readonly expired = new Set<string>();
  readonly #options: LineOptions;
  #stormUntilMs = 0;
  #trouble: { readonly fault: ServerFault; readonly untilMs: number } | null = null;
  #asked = 0;

  constructor(options: LineOptions) {
    this.#options = options;
  }

  suffer(fault: ServerFault, forMs: number): void {
    this.#trouble = { fault, untilMs: Date.now() + forMs };
  }

  async pass(incoming: IncomingMessage, response: ServerResponse): Promise<void> {
    const { method = 'GET', url: path = '/' } = incoming;
    const { [workerHeader]: worker, ...headers } = incoming.headers;
    const body = await buffer(incoming);
    const request = { method, path, headers, body: body.toString('utf8') };
    const { labels, accountOf } = this.#options;
    const made = labels(request);
    if (made.length > 0) {
      this.creates.push({ labels: made, askedAtMs: Date.now(), account: accountOf(request) });
      this.#note(made, 'asked for');
    }

    if (this.expired.has(accountOf(request))) {
      give(response, 400, { error: 'ExpiredToken', message: 'Token has expired' });
      return;
    }

    const trouble = this.#trouble;
    if (trouble && Date.now() < trouble.untilMs) {
      await this.#disappoint(request, body, response, { ...trouble, made });
      return;
    }

    const { faults, platform } = this.#options;
    const taken = this.#inStorm() ? undefined : faults.take(platform, made);
    const fault = taken && (await this.#bringAbout(taken));
    if (fault) {
      this.#note(made, fault);
    }
    await this.#answer(request, body, response, { fault, made, worker: String(worker) });
  }

  /** Does what goes before the answer. @returns the fault, unless its moment was missed. */
  async #bringAbout({ fault, id, marker }: TakenFault): Promise<LineFault | undefined> {
    const { journal, cues } = this.#options;
    if (!cuedFaults.has(fault)) {
      journal.injected(fault, id);
      return fault;
    }

    const isDone = await cues.give(marker);
    // A worker that is killed says so itself.
    if (isDone && fault !== 'killed in a late record') {
      journal.injected(fault, id);
    }

    return isDone ? fault : undefined;
  }

  async #disappoint(
    request: LineRequest,
    body: Buffer,
    response: ServerResponse,
    { fault, untilMs, made }: { fault: ServerFault; untilMs: number; made: Label[] },
  ): Promise<void> {
    this.#asked += made.length > 0 ? 1 : 0;
    const isMade = made.length > 0 && this.#asked % 2 === 0;
    this.#note(made, `${fault}${isMade ? ', and makes the post' : ''}`);
    if (isMade) {
      const { status } = await this.#forward(request, body);
      this.#note(made, `would have answered ${status}`);
    }
    if (fault === 'server hangs') {
      await sleep(Math.max(0, untilMs - Date.now()));
      response.destroy();
      return;
    }

    give(response, 502, { error: 'Bad Gateway' });
  }

  async #answer(
    request: LineRequest,
    body: Buffer,
    response: ServerResponse,
    { fault, made, worker }: { fault: LineFault | undefined; made: Label[]; worker: string },
  ): Promise<void> {
    const { refusal, broken, journal, killWorker } = this.#options;
    if (fault === '429 storm') {
      this.#stormUntilMs = Date.now() + stormMs;
    }
    if (this.#inStorm() || fault === '429 after a cancel') {
      this.#limit(response, made);
      return;
    }
    if (fault === 'refused' || fault === '500, not done') {
      const { status, body: words } = fault === 'refused' ? refusal : broken;
      give(response, status, words);
      return;
    }

    await sleep(fault === 'request after the timeout' ? beyondTimeoutMs : 0);
    const answer = await this.#forward(request, body);
    this.#note(made, `answered ${answer.status}`);
    if (fault === "killed after the network's commit") {
      killWorker(worker);
      journal.note('', `${worker} is killed`);
    }
    if (fault === 'answer lost' || fault === "killed after the network's commit") {
      response.destroy();
      return;
    }
    if (fault === '500, done all the same') {
      give(response, broken.status, broken.body);
      return;
    }

    await sleep(fault === 'answer after the timeout' ? beyondTimeoutMs : 0);
    response.writeHead(answer.status, answer.headers).end(answer.body);
  }

  #note(made: readonly Label[], what: string): void {
    const { journal, platform } = this.#options;
    const [first] = made;
    if (first) {
      const parts = made.map(({ part }) => part).join(', ');
      journal.note(first.marker, `${platform}, part ${parts}: ${what}`);
    }
  }

  #limit(response: ServerResponse, made: readonly Label[]): void {
    const { status, body } = this.#options.tooMany;
    give(response, status, body, { 'retry-after': retryAfterSeconds });
    this.#note(made, 'answered 429');
  }

  #inStorm(): boolean {
    return Date.now() < this.#stormUntilMs;
  }

  /** Goes on when the client has given up: what has left arrives. */
  async #forward({ method, path, headers }: LineRequest, body: Buffer): Promise<Answer> {
    const server = new URL(this.#options.serverUrl);
    const request = httpRequest(new URL(path, server), {
      method,
      headers: { ...headers, host: server.host, connection: 'close' },
    });
    request.end(body);
    const [answered]: IncomingMessage[] = await once(request, 'response');
    if (!answered) {
      throw new Error('The network gave no answer.');
    }

    const { statusCode: status = 502, headers: answerHeaders } = answered;
    return { status, headers: answerHeaders, body: await buffer(answered) };
  }
}

function give(
  response: ServerResponse,
  status: number,
  body: object,
  headers: Readonly<Record<string, string>> = {},
): void {
  response
    .writeHead(status, { 'content-type': 'application/json', ...headers })
    .end(JSON.stringify(body));
}

/** Which worker asks a network. The line before the network reads it and does not pass it on. */
export const workerHeader = 'x-chaos-worker';
