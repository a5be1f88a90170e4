import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import type { ExecutionContext } from 'ava';
import type { Cues } from '../parts/cues.ts';
import type { Journal } from '../parts/journal.ts';
import type { LineFault, ServerFault } from '../plan/faults.ts';
import { labelsIn, type Label } from '../plan/texts.ts';
import { arrive, forward, forwardBeginning, type Server } from './forward.ts';
import type { LineAnswer, LinePlatform, LineRequest } from './line-platform.ts';
import type { PlannedFaults, TakenFault } from './planned-faults.ts';
import { isRefresh, passRefresh, type Refreshes } from './refreshes.ts';
import { listening } from '../../support/listening.ts';

const stormMs = 5000;
const retryAfterSeconds = 3;
/** A smaller request carries no file of a run. */
const fileBytes = 8 * 1024;

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
  /** Makes the network answer that the account's tokens have expired. A new login is unaffected. */
  expire(account: string): void;
  /** Starts a server fault for `forMs`. Every second requested post is made nevertheless. */
  suffer(fault: ServerFault, forMs: number): void;
};

/** Shared by lines, so that a network can rate limit all of its accounts at once. */
export type Storm = { untilMs: number };

export type LineOptions = LinePlatform & {
  readonly server: Server;
  readonly storm: Storm;
  /** Slows down the processing of the next file, on networks that support it. */
  readonly slowDown?: () => Promise<void>;
  /** For a channel with a grant. */
  readonly refreshes?: Refreshes;
  readonly faults: PlannedFaults;
  readonly journal: Journal;
  readonly cues: Cues;
  readonly killWorker: (name: string) => void;
};

/** A proxy between the product and one network, with the faults that the run's plan asks for. */
export async function networkLine(t: ExecutionContext, options: LineOptions): Promise<NetworkLine> {
  const line = new Line(options);
  const server = createServer((incoming, response) => {
    line.pass(incoming, response).catch(() => response.destroy());
  });
  const port = await listening(t, server);
  return {
    url: `http://127.0.0.1:${port}`,
    port,
    creates: line.creates,
    expire: (account) => line.expired.add(account),
    suffer: (fault, forMs) => line.suffer(fault, forMs),
  };
}

/** For these faults, the post's user acts while the request is on its way. */
const cuedFaults: ReadonlySet<LineFault> = new Set([
  'terminated in mid-send',
  '429 after a cancel',
  'killed in a late record',
]);

class Line {
  readonly creates: SeenCreate[] = [];
  readonly expired = new Set<string>();
  readonly #options: LineOptions;
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
    const { [workerHeader]: worker, [uploadHeader]: upload, ...headers } = incoming.headers;
    const { bytes, isComplete } = await arrive(incoming);
    const request = { method, path, headers, body: bytes.toString('utf8') };
    const { server, labels, accountOf } = this.#options;
    if (!isComplete) {
      await forwardBeginning(server, request, bytes);
      return;
    }

    const made = labels(request);
    if (made.length > 0) {
      this.creates.push({ labels: made, askedAtMs: Date.now(), account: accountOf(request) });
      this.#note(made, 'asked for');
    }

    if (this.expired.has(accountOf(request))) {
      give(response, {
        status: 400,
        body: { error: 'ExpiredToken', message: 'Token has expired' },
      });
      return;
    }

    const trouble = this.#trouble;
    if (trouble && Date.now() < trouble.untilMs) {
      await this.#disappoint(request, bytes, response, { ...trouble, made });
      return;
    }

    const { refreshes, ...rest } = this.#options;
    if (refreshes && !this.#inStorm() && isRefresh(request)) {
      await passRefresh(refreshes, { ...rest, request, bytes, response, worker: String(worker) });
      return;
    }

    const isCutOff = await this.#troubleUpload(request, bytes, labelsIn(decoded(upload)));
    if (isCutOff) {
      response.destroy();
      return;
    }

    const { faults, platform } = this.#options;
    const planned = this.#inStorm() ? undefined : faults.take(platform, made);
    const fault = planned && (await this.#bringAbout(planned));
    if (fault) {
      this.#note(made, fault);
    }
    await this.#answer(request, bytes, response, { fault, made, worker: String(worker) });
  }

  /**
   * Applies the planned faults to a request of an upload.
   *
   * @param labels The posts that the files belong to.
   * @returns whether the request is cut off.
   */
  async #troubleUpload(request: LineRequest, bytes: Buffer, labels: Label[]): Promise<boolean> {
    const { faults, platform, journal, server, slowDown } = this.#options;
    const slow = slowDown && faults.takeOfUpload(platform, labels, 'processing slow');
    if (slow) {
      await slowDown();
      journal.injected(slow.fault, slow.id);
      journal.note(slow.marker, `${platform}: ${slow.fault}`);
    }

    const cut =
      bytes.length >= fileBytes
        ? faults.takeOfUpload(platform, labels, 'upload cut off')
        : undefined;
    if (cut) {
      await forwardBeginning(server, request, bytes.subarray(0, bytes.length / 2));
      journal.injected(cut.fault, cut.id);
      journal.note(cut.marker, `${platform}: ${cut.fault}`);
    }

    return cut !== undefined;
  }

  /** Acts before the response as the fault requires. @returns the fault, or undefined when its moment was missed. */
  async #bringAbout({ fault, id, marker }: TakenFault): Promise<LineFault | undefined> {
    const { journal, cues } = this.#options;
    if (!cuedFaults.has(fault)) {
      journal.injected(fault, id);
      return fault;
    }

    const isDone = await cues.give(marker);
    // The death of a worker is recorded when it happens.
    if (isDone && fault !== 'killed in a late record') {
      journal.injected(fault, id);
    }

    return isDone ? fault : undefined;
  }

  async #disappoint(
    request: LineRequest,
    bytes: Buffer,
    response: ServerResponse,
    { fault, untilMs, made }: { fault: ServerFault; untilMs: number; made: Label[] },
  ): Promise<void> {
    this.#asked += made.length > 0 ? 1 : 0;
    const isMade = made.length > 0 && this.#asked % 2 === 0;
    this.#note(made, `${fault}${isMade ? ', but the post is made' : ''}`);
    if (isMade) {
      const { status } = await forward(this.#options.server, request, bytes);
      this.#note(made, `would have answered ${status}`);
    }
    if (fault === 'server hangs') {
      await sleep(Math.max(0, untilMs - Date.now()));
      response.destroy();
      return;
    }

    give(response, { status: 502, body: { error: 'Bad Gateway' } });
  }

  async #answer(
    request: LineRequest,
    bytes: Buffer,
    response: ServerResponse,
    { fault, made, worker }: { fault: LineFault | undefined; made: Label[]; worker: string },
  ): Promise<void> {
    const { refusal, broken, journal, killWorker, storm, server, beyondTimeoutMs } = this.#options;
    if (fault === '429 storm') {
      storm.untilMs = Date.now() + stormMs;
    }
    if (this.#inStorm() || fault === '429 after a cancel') {
      this.#limit(response, made);
      return;
    }
    if (fault === 'refused' || fault === '500, not done') {
      give(response, fault === 'refused' ? refusal : broken);
      return;
    }

    await sleep(fault === 'request after the timeout' ? beyondTimeoutMs : 0);
    const answer = await forward(server, request, bytes);
    this.#options.answered?.(request, answer);
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
      give(response, broken);
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
    give(response, this.#options.tooMany(retryAfterSeconds));
    this.#note(made, 'answered 429');
  }

  #inStorm(): boolean {
    return Date.now() < this.#options.storm.untilMs;
  }
}

function give(response: ServerResponse, { status, headers, body }: LineAnswer): void {
  response
    .writeHead(status, { 'content-type': 'application/json', ...headers })
    .end(JSON.stringify(body));
}

/** Names the worker of a request. The line removes the header. */
export const workerHeader = 'x-chaos-worker';

/** The texts whose files a request carries or prepares. The line removes the header. */
export const uploadHeader = 'x-chaos-upload';

export const uploadHeaders = (texts: readonly string[]): Record<string, string> => ({
  [uploadHeader]: encodeURIComponent(texts.join('\n')),
});

const decoded = (upload: string | string[] | undefined): string =>
  decodeURIComponent(String(upload ?? ''));
